"""`kubesim scenario`: tools for authors of scenario files."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubesim.cli.flags import options
from kubesim.cli.output.terminal import safe, say, warn
from kubesim.errors import InputError, UsageError

if TYPE_CHECKING:
    from kubesim.scenario.authoring.listing import Listed

HELP = "write, check, format and list scenario files; print their JSON Schema"
DESCRIPTION = """Tools for writing scenarios. `new` writes a file to start from, `validate` finds all mistakes
of a file at once, `fmt` formats it, `schema` prints the JSON Schema for editors, `list` lists the scenarios
of a directory."""

STANDARD_INPUT = "-"
EXIT_DIFFERENT, EXIT_WRONG = 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, help: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=help, description=help[:1].upper() + help[1:] + ".", allow_abbrev=False)

    new = action("new", "write a commented scenario to start from")
    new.add_argument("name", metavar="NAME", help="small letters, digits and dashes; the file is NAME.yaml")
    new.add_argument("--dir", default=".", metavar="DIR", help="the directory of the file; default: the current one")
    new.add_argument("--force", action="store_true", help="overwrite a file that exists")
    validate = action("validate", "find all mistakes of scenario files, each with its line, column and path")
    _add_paths(validate)
    validate.add_argument("--strict", action="store_true", help="also reject objects that have no effect here")
    validate.add_argument("--allow-host", action="store_true", help="accept fields that give access to this machine")
    _add_output(validate)
    fmt = action("fmt", "format scenario files in place; comments, text and order are kept")
    _add_paths(fmt)
    fmt.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file is not formatted")
    action("schema", "print the JSON Schema (draft 7) of scenario files")
    lists = action("list", "list the name, length, number of expectations and subject of scenarios")
    lists.add_argument("paths", nargs="*", metavar="PATH", help="files and directories; default: the bundled scenarios")
    _add_output(lists)


def _add_paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, and directories of scenarios; - is stdin")


def _add_output(parser: argparse.ArgumentParser) -> None:
    formats = ("text", "json")
    help = "text, or JSON"
    parser.add_argument("-o", "--output", type=options.one_of(formats), default="text", metavar="text|json", help=help)


def execute(args: argparse.Namespace) -> int:
    run = {"new": _new, "validate": _validate, "fmt": _format, "schema": _schema, "list": _list}[args.action]
    return run(args)


def _new(args: argparse.Namespace) -> int:
    from kubesim.scenario.authoring.starter import starter

    path = os.path.join(args.dir, f"{args.name}.yaml") if args.dir != "." else f"{args.name}.yaml"
    text = starter(args.name, path)
    try:
        with open(path, "w" if args.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path}: exists already; --force overwrites it") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    say(path)
    return 0


def _files(paths: Sequence[str]) -> tuple[list[str], list[UsageError]]:
    """The scenario files of the paths, and errors about the paths."""
    from kubesim.testing.cases import Collected, scenario_paths

    found = Collected()
    files = [path for path, _ in scenario_paths(paths, found)]
    return files, found.problems


def _validate(args: argparse.Namespace) -> int:
    from kubesim.golang.json import printable_json
    from kubesim.scenario.authoring.all_problems import all_problems
    from kubesim.scenario.load.loader import read_source

    files, problems = _files(args.paths)
    for path in files:
        try:
            problems += all_problems(read_source(path), strict=args.strict, allow_host=args.allow_host)
        except UsageError as error:  # unreadable
            problems.append(error)
    if args.output == "json":
        print(printable_json({"files": len(files), "problems": [_as_json(problem) for problem in problems]}))
    else:
        for problem in problems:
            say(problem.pointed if isinstance(problem, InputError) and problem.line else str(problem))
        reported = _counted(len(problems), "mistake") if problems else "no mistakes"
        (warn if problems else say)(f"{_counted(len(files), 'file')}, {reported}")
    return EXIT_WRONG if problems else 0


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _as_json(error: UsageError) -> dict[str, object]:
    if not isinstance(error, InputError):
        return {"message": str(error)}
    position = {"line": error.line, "column": error.column, "path": error.field}
    return {"file": error.source, **position, "message": error.problem}


def _format(args: argparse.Namespace) -> int:
    from kubesim.scenario.authoring.formatting import format_text
    from kubesim.scenario.load.text_files import read_text

    if args.paths == [STANDARD_INPUT]:
        text = read_text(STANDARD_INPUT, "standard input")
        formatted = format_text(text, "standard input")
        sys.stdout.write("" if args.check else formatted)
        return EXIT_DIFFERENT if args.check and formatted != text else 0
    files, problems = _files(args.paths)
    if problems:
        raise problems[0]
    changed = []
    for path in files:
        text = read_text(path, path)
        formatted = format_text(text, path)
        if formatted != text:
            changed.append(path)
            if not args.check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(formatted)
    for path in changed:
        say(path)
    reported = f"{len(changed)} to format" if args.check else f"{len(changed)} formatted"
    (warn if changed else say)(f"{_counted(len(files), 'file')}, {reported}")
    return EXIT_DIFFERENT if args.check and changed else 0


def _schema(args: argparse.Namespace) -> int:
    import json

    from kubesim.scenario.authoring.schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
    return 0


def _list(args: argparse.Namespace) -> int:
    from kubesim.golang.json import printable_json
    from kubesim.scenario.authoring.listing import describe_file
    from kubesim.shipped import shipped

    files, problems = _files(args.paths or [str(shipped("scenarios"))])
    if problems:
        raise problems[0]
    listed = [describe_file(path) for path in files]
    if args.output == "json":
        print(printable_json({"scenarios": [each.to_json() for each in listed]}))
    else:
        _print_table(listed)
    return 0


def _print_table(listed: Sequence[Listed]) -> None:
    """On a terminal a table row per scenario; elsewhere the full sentence."""
    widest = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    name = max(len(each.name) for each in listed)
    span = max(len(each.span) for each in listed)
    print(f"{'NAME':<{name}}  {'LENGTH':>{max(span, 6)}}  EXPECTS  LOOK AT")
    for each in listed:
        line = f"{each.name:<{name}}  {each.span:>{max(span, 6)}}  {each.expectations:>7}  {each.first_sentence}"
        print(safe(line if widest is None or len(line) <= widest else line[: widest - 1] + "…"))

"""`kubesim lab`: predict the kubelet's behaviour, then see it; write new labs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubesim.cli.flags.options import one_of
from kubesim.cli.output.terminal import say
from kubesim.features.table import PROFILES

if TYPE_CHECKING:
    from kubesim.labs.lesson import Lesson
    from kubesim.labs.load import Lab
    from kubesim.labs.playing import LessonRun
    from kubesim.labs.progress import Progress
    from kubesim.scenario.language.document import Scenario

HELP = "learn the kubelet: predict what it does, then see it"
DESCRIPTION = """Teaching labs. `list` shows them, `start N` begins one, `check ANSWER` answers its open question, and
`check` without an answer asks one question after the other. Progress is kept in the state directory."""
QUIT = ("quit", "exit", "q")


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, help: str, *, labs: bool = True, state: bool = True) -> argparse.ArgumentParser:
        sub = actions.add_parser(name, help=help, description=help[:1].upper() + help[1:] + ".", allow_abbrev=False)
        if labs:
            sub.add_argument("--labs", metavar="DIR", help="the directory of the labs (environment: KUBESIM_LABS)")
        if state:
            sub.add_argument("--state", metavar="DIR", help="the directory of the progress (default: XDG state)")
        return sub

    action("list", "list the labs: progress, minutes, level")
    start = action("start", "begin a lab, or continue it: print its text and the open question")
    start.add_argument("lab", metavar="N", help="number or name of a lab")
    check = action("check", "answer the open question; without an answer: ask in a loop, or check the task")
    check.add_argument(
        "answers", nargs="*", metavar="ANSWER", help="the answer, or several for the open questions in their order"
    )
    hint = action("hint", "print a hint for the open question or the task; each of the three reveals more")
    following = action("next", "begin the next lab that is not done")
    reset = action("reset", "forget the progress in a lab, or in all labs, and restore its scenario")
    reset.add_argument("lab", metavar="N", nargs="?", help="number or name of a lab; default: all labs")
    step = action("step", "step through the run of the current lab")
    step.add_argument("--break-on", action="append", default=[], metavar="CONDITION", help="stop at records that match")
    step.add_argument("--profile", type=one_of(PROFILES), metavar="VERSION", help="the run under this kubelet version")
    inside = action("inside", "walk through the code path of the run")
    inside.add_argument("lab", metavar="N", nargs="?", help="number or name of a lab; default: the current lab")
    walk = action(
        "walk", "walk through a pod's creation, from the manifest to the first packet", labs=False, state=False
    )
    walk.add_argument("--markdown", action="store_true", help="print a page in Markdown")
    new = action("new", "write a new lab, as a template, to the current directory or to --labs DIR", state=False)
    new.add_argument("name", metavar="NAME", help="lower-case letters, digits and dashes: slow-start")
    validate = action("validate", "check that the statements of a lab are true for its run", state=False)
    validate.add_argument("chosen", nargs="*", metavar="LAB", help="numbers, names or folders; default: all labs")
    table = action("class", "print the results of a class, from the files that --class wrote", labs=False, state=False)
    table.add_argument("files", nargs="+", metavar="FILE", help="a file that --class wrote, one for each learner")
    results = "write the results to this file, for a teacher to collect (environment: KUBESIM_CLASS)"
    learner = "the name of the learner (environment: KUBESIM_LEARNER; default: the user name)"
    for each in (parser, start, check, hint, following):
        # Valid before and after the action. SUPPRESS keeps the second default from overwriting the first value.
        each.add_argument("--class", dest="results", metavar="FILE", default=argparse.SUPPRESS, help=results)
        each.add_argument("--learner", metavar="NAME", default=argparse.SUPPRESS, help=learner)


def execute(args: argparse.Namespace) -> int:
    if args.action == "walk":
        return _walk(args)
    if args.action == "class":
        return _class(args)
    if args.action == "new":
        return _new(args)
    from kubesim.labs.load import labs_directory

    directory = labs_directory(args.labs)
    if args.action == "validate":
        return _validate(args, directory)
    return _learn(args, directory)


def play(scenario: Scenario) -> LessonRun:
    """Run a scenario for a lab."""
    from kubesim.app import run_scenario
    from kubesim.cli.flags.saving_flags import header_of
    from kubesim.cluster.saved.observer import history_of
    from kubesim.labs.playing import LessonRun
    from kubesim.trace import MemorySink

    sink = MemorySink()
    history, observer = history_of(header_of(scenario, None))
    result = run_scenario(scenario, sinks=(sink, observer))
    history.ended(result.duration)
    return LessonRun(tuple(sink.records), result.expectations_failed, history)


# -- learning ---------------------------------------------------------------------------------------------------


def _learn(args: argparse.Namespace, directory: Path) -> int:
    from kubesim.labs.load import find_lab, find_labs
    from kubesim.labs.progress import Progress, state_directory

    progress = Progress(state_directory(args.state))
    if args.action == "list":
        return _list(find_labs(directory), progress)
    if args.action == "reset":
        return _reset(args.lab and find_lab(directory, args.lab), progress)
    if args.action == "start":
        progress.current = find_lab(directory, args.lab).name
    elif args.action == "next":
        progress.current = _next(find_labs(directory), progress)
    lesson = _lesson(directory, progress, getattr(args, "lab", None))
    try:
        return _act(args, lesson)
    finally:
        # Also after an invalid answer or a closed pipe: earlier answers count.
        progress.save()
        results = getattr(args, "results", None) or os.environ.get("KUBESIM_CLASS")
        if results and args.action in ("start", "check", "hint", "next"):
            learner = getattr(args, "learner", None) or os.environ.get("KUBESIM_LEARNER") or _user()
            _write_results(Path(results), learner, find_labs(directory), progress)


def _act(args: argparse.Namespace, lesson: Lesson) -> int:
    if args.action in ("start", "next"):
        from kubesim.labs.progress import write_file

        lesson.prepare(write_file)
        _say(lesson.begin())
    elif args.action == "check":
        return _check(args, lesson)
    elif args.action == "hint":
        _say(lesson.hint())
    elif args.action == "inside":
        _say(lesson.inside())
    elif args.action == "step":
        from kubesim.cli.tui.opening import step_through
        from kubesim.trace.stepping import RecordCondition

        breaks = [RecordCondition.parse(text) for text in args.break_on]
        title = f"lab {lesson.lab.number}: {lesson.lab.file.title}{f' ({args.profile})' if args.profile else ''}"
        step_through(lesson.run(args.profile or "").records, title, breaks)
    return 0


def _lesson(directory: Path, progress: Progress, asked: str | None) -> Lesson:
    from kubesim.errors import UsageError
    from kubesim.labs.lesson import Lesson
    from kubesim.labs.load import find_lab

    if not asked and not progress.current:
        raise UsageError("no lab in progress; start one with: kubesim lab start 1")
    lab = find_lab(directory, asked or progress.current)
    return Lesson(lab, progress.of(lab), play, progress.working_copy(lab))


def _say(lines: list[str]) -> None:
    say(*lines)


def _list(labs: list[Lab], progress: Progress) -> int:
    for lab in labs:
        done = progress.labs.get(lab.name)
        answered = 0 if done is None else done.answered(lab)
        state = "done" if done is not None and done.is_done(lab) else f"{answered}/{len(lab.file.questions)}"
        effort = f"{lab.file.minutes:>2}m {lab.file.level:<12}"
        say(f"{lab.number:>2}  {lab.file.title:<28} {state:>4}  {effort}  {lab.file.about}")
    return 0


def _reset(lab: Lab | None, progress: Progress) -> int:
    names = [lab.name] if lab else list(progress.labs)
    for name in names:
        progress.labs.pop(name, None)
    copies = progress.directory / "labs"
    for copy in [progress.working_copy(lab)] if lab else sorted(copies.glob("*/scenario.yaml")):
        copy.unlink(missing_ok=True)
    if not lab or progress.current == lab.name:
        progress.current = ""
    progress.save()
    print(f"reset: {lab.name if lab else 'all labs'}")
    return 0


def _next(labs: list[Lab], progress: Progress) -> str:
    """The next unfinished lab after the current one, else the first unfinished one."""
    from kubesim.errors import UsageError

    names = [lab.name for lab in labs]
    start = names.index(progress.current) + 1 if progress.current in names else 0
    for lab in [*labs[start:], *labs[:start]]:
        if not progress.of(lab).is_done(lab):
            return lab.name
    raise UsageError("all labs are done; kubesim lab reset starts again")


def _check(args: argparse.Namespace, lesson: Lesson) -> int:
    """Read answers from the command line, else from standard input."""
    right = True
    if args.answers:
        words = list(args.answers)
        while words and lesson.open_question is not None:
            answer, words = lesson.take_words(words)
            right &= _take(lesson, answer)
        _say(lesson.ask())
    elif lesson.open_question is None and not lesson.is_done:
        lines, right = lesson.check_task()
        _say(lines)
        if right:
            _say(lesson.ask())
    else:
        right = _dialogue(lesson)
    return 0 if right else 1


def _take(lesson: Lesson, answer: str) -> bool:
    lines, right = lesson.answer(answer)
    _say([*lines, ""])
    return right


def _dialogue(lesson: Lesson) -> bool:
    """Ask until every question is answered or standard input ends. `hint` prints a hint, `quit` exits."""
    from kubesim.labs.reading import NoAnswer

    right = True
    _say(lesson.ask())
    if lesson.open_question is not None:
        say("  (type an answer, or hint, or quit)")
    while lesson.open_question is not None:
        if sys.stdin.isatty():
            print("> ", end="", flush=True)
        line = sys.stdin.readline()
        typed = line.strip()
        if not line or typed.lower() in QUIT:
            break
        if not typed:
            continue
        if typed.lower() in ("hint", "?"):
            _say([*lesson.hint(), ""])
            continue
        try:
            right = _take(lesson, typed)
        except NoAnswer as error:
            say(f"{error}\n")
        _say(lesson.ask())
    return right


def _write_results(file: Path, learner: str, labs: list[Lab], progress: Progress) -> None:
    from kubesim.labs.progress import class_results, write_file

    write_file(file, json.dumps(class_results(learner, labs, progress), indent=1) + "\n")


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


# -- teaching ---------------------------------------------------------------------------------------------------


def _new(args: argparse.Namespace) -> int:
    from kubesim.labs.scaffold import new_lab

    folder = new_lab(Path(args.labs or "."), args.name)
    say(
        f"{folder}: a new lab. Change its files, then:",
        f"  kubesim lab validate ./{folder}" if not folder.is_absolute() else f"  kubesim lab validate {folder}",
        f"  kubesim lab start --labs {folder.parent} {int(folder.name[:2])}",
    )
    return 0


def _validate(args: argparse.Namespace, directory: Path) -> int:
    from kubesim.labs.load import find_lab, find_labs, load_lab
    from kubesim.labs.validate import problems

    labs = [
        load_lab(Path(chosen)) if Path(chosen).is_dir() or "/" in chosen else find_lab(directory, chosen)
        for chosen in args.chosen
    ] or find_labs(directory)
    bad = 0
    for lab in labs:
        found = problems(lab, play)
        bad += bool(found)
        say(f"{lab.name}: {'ok' if not found else '1 problem' if len(found) == 1 else f'{len(found)} problems'}")
        for problem in found:
            say(f"  {problem}")
    return 1 if bad else 0


def _class(args: argparse.Namespace) -> int:
    from kubesim.errors import UsageError
    from kubesim.labs.progress import class_table

    results: list[dict[str, Any]] = []
    for file in args.files:
        try:
            results.append(json.loads(Path(file).read_text(encoding="utf-8")))
            lines = class_table(results)
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(f"{file}: is not a file that --class wrote") from None
    _say(lines)
    return 0


def _walk(args: argparse.Namespace) -> int:
    from kubesim.labs.walk import pod_creation

    walk = pod_creation(play)
    _say(walk.markdown() if args.markdown else walk.lines())
    return 0

"""Programs for regular expressions: grep, sed. Their work is counted.

Back-references are rejected: they cannot be matched in bounded time.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.golang.regexp import BadExpression, Dialect, Expression, Match, TooMuchWork, compile_regexp
from kubesim.shell.kernel.devices import open_for_writing
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.streams import Stream
from kubesim.shell.programs.filters import open_inputs
from kubesim.shell.programs.options import ParsedOptions, number, parse_options
from kubesim.shell.programs.registry import program
from kubesim.values import value_object

_INSTRUCTIONS_PER_STEP = 4
_CONTROLS = {"n": "\n", "t": "\t"}
_SPECIAL = {"basic": "\\.[]*^$", "extended": "\\.[]*^$(){}|+?"}


def _escaped(text: str, dialect: Dialect) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL[dialect] else char for char in text)


@program("grep", "egrep", "fgrep")
async def grep(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "emABC")
    operands = options.operands
    if "e" not in options and not operands:
        return await process.complain("grep: no pattern given") + 1
    pattern = options.get("e") if "e" in options else operands.pop(0)
    dialect: Dialect = "extended" if "E" in options or argv[0] == "egrep" else "basic"
    try:
        text = _escaped(pattern, dialect) if "F" in options or argv[0] == "fgrep" else pattern
        compiled = compile_regexp(_whole(text, dialect, options), dialect, ignore_case="i" in options)
    except BadExpression as problem:
        return await process.complain(f"grep: bad regex '{pattern}': {problem}") + 1
    inputs = await open_inputs(process, "grep", operands)
    found = False
    for path, stream in inputs:
        try:
            matches = await _matching_lines(process, stream, compiled, options)
        except TooMuchWork as problem:
            return await process.complain(f"grep: {problem}") + 1
        found = found or bool(matches)
        if "q" in options and found:
            return 0
        prefix = f"{path}:" if len(operands) > 1 and "h" not in options else ""
        if "l" in options:
            await process.write(f"{path}\n" if matches else "")
        elif "c" in options:
            await process.write(f"{prefix}{len(matches)}\n")
        elif "q" not in options:
            await process.write("".join(f"{prefix}{line}\n" for line in matches))
    return 0 if found else 2 if inputs.code else 1


def _whole(pattern: str, dialect: Dialect, options: ParsedOptions) -> str:
    """The expression extended for -x and -w."""
    opening, closing = ("(", ")") if dialect == "extended" else ("\\(", "\\)")
    if "x" in options:
        return f"^{opening}{pattern}{closing}$"
    return f"\\<{opening}{pattern}{closing}\\>" if "w" in options else pattern


async def _matching_lines(process: Process, stream: Stream, compiled: Expression, options: ParsedOptions) -> list[str]:
    matches: list[str] = []
    for index, line in enumerate((await process.read_all(stream)).splitlines(), 1):
        before = compiled.work
        if compiled.found_in(line) != ("v" in options):
            numbered = f"{index}:" if "n" in options else ""
            if "o" in options and "v" not in options:
                matches.extend(numbered + match.group() for match in compiled.matches(line) if match.group())
            else:
                matches.append(numbered + line)
        await _count_work(process, line, compiled.work - before)
    return matches[: number(options.get("m", "")) or None]


async def _count_work(process: Process, line: str, work: int) -> None:
    process.spend_on(line)
    if process.spend(work // _INSTRUCTIONS_PER_STEP):
        await process.pause()


@value_object
class _Substitution:
    """`s/old/new/flags`."""

    old: Expression
    new: str
    replace_all: bool

    def applied_to(self, line: str) -> str:
        if not self.old.found_in(line):
            return line
        pieces: list[str] = []
        position = 0
        for match in self.old.matches(line):
            pieces += (line[position : match.start], _replacement(self.new, match))
            position = match.end
            if not self.replace_all:
                break
        return "".join((*pieces, line[position:]))


def _replacement(new: str, match: Match) -> str:
    r"""The replacement text: `&` is the whole match, `\1` a group, `\n` a newline."""
    pieces: list[str] = []
    characters = iter(new)
    for char in characters:
        if char == "&":
            pieces.append(match.group())
        elif char == "\\":
            char = next(characters, "\\")
            group = int(char) if char.isdecimal() else -1
            pieces.append(match.group(group) if 0 <= group < len(match.spans) else _CONTROLS.get(char, char))
        else:
            pieces.append(char)
    return "".join(pieces)


@program("sed")
async def sed(process: Process, argv: list[str]) -> int:
    """Only `s/old/new/` and its flags, several of them separated by semicolons."""
    options = parse_options(argv, "e")
    script = options.get("e") if "e" in options else (options.operands.pop(0) if options.operands else "")
    try:
        commands = list(_substitutions(script, "extended" if "E" in options or "r" in options else "basic"))
    except BadExpression as problem:
        return await process.complain(f"sed: bad regex: {problem}")
    except ValueError:
        commands = []
    if not commands:
        process.kernel.note(f"of sed only substitutions are simulated, not {script!r}: the text is left as it is")
    inputs = await open_inputs(process, "sed", options.operands)
    for path, stream in inputs:
        lines: list[str] = []
        for line in (await process.read_all(stream)).splitlines(keepends=True):
            end = "\n" if line.endswith("\n") else ""
            before = sum(command.old.work for command in commands)
            changed = line.removesuffix("\n")
            try:
                for command in commands:
                    changed = command.applied_to(changed)
            except TooMuchWork as problem:
                return await process.complain(f"sed: {problem}")
            process.hold(max(0, len(changed) - len(line)))
            lines.append(changed + end)
            await _count_work(process, line, sum(command.old.work for command in commands) - before)
        text = "".join(lines)
        if "i" in options and path != "-":
            open_for_writing(process, path, append=False).poll_write(text)
        else:
            await process.write(text)
    return inputs.code


def _substitutions(script: str, dialect: Dialect) -> Iterator[_Substitution]:
    """Parse the script; raises ValueError for other commands."""
    position = 0
    while position < len(script):
        if script[position] in "; \n":
            position += 1
            continue
        mark = script[position + 1 : position + 2]
        if script[position] != "s" or not mark or mark in "\\\n":
            raise ValueError
        old, position = _up_to(mark, script, position + 2)
        new, position = _up_to(mark, script, position)
        flags = ""
        while position < len(script) and script[position] not in "; \n":
            flags += script[position]
            position += 1
        if not set(flags) <= set("gIi"):
            raise ValueError
        ignore_case = bool({"I", "i"} & set(flags))
        yield _Substitution(compile_regexp(old, dialect, ignore_case=ignore_case), new, "g" in flags)


def _up_to(mark: str, script: str, position: int) -> tuple[str, int]:
    """The text before the next unescaped delimiter, and the position after it."""
    pieces: list[str] = []
    while position < len(script):
        char = script[position]
        if char == mark:
            return "".join(pieces), position + 1
        if char == "\\" and position + 1 < len(script):
            position += 1
            char = mark if script[position] == mark else char + script[position]
        pieces.append(char)
        position += 1
    raise ValueError

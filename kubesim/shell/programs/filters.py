"""Programs that read files or their standard input: cat, head, tail, wc, grep, sort, uniq, cut, tr, sed, tee."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesim.shell.kernel.devices import absolute, open_for_reading, open_for_writing
from kubesim.shell.kernel.files import FileFault
from kubesim.shell.kernel.kernel import Process, rest
from kubesim.shell.kernel.streams import Stream
from kubesim.shell.programs.options import ParsedOptions, number, parse_options
from kubesim.shell.programs.registry import program
from kubesim.values import part


@part
class _Inputs:
    """The inputs of a filter in order; a file that cannot be read was complained about, and the code is 1."""

    streams: list[tuple[str, Stream]]
    code: int

    def __iter__(self) -> Iterator[tuple[str, Stream]]:
        return iter(self.streams)


async def _open(process: Process, name: str, paths: list[str]) -> _Inputs:
    inputs = _Inputs([], 0)
    for path in paths or ["-"]:
        try:
            inputs.streams.append((path, process.stream(0) if path == "-" else open_for_reading(process, path)))
        except FileFault as fault:
            what = f"can't open '{path}'" if name in ("cat", "tail", "sort") else path
            inputs.code = await process.complain(f"{name}: {what}: {fault}")
    return inputs


@program("cat")
async def cat(process: Process, argv: list[str]) -> int:
    inputs = await _open(process, "cat", parse_options(argv).operands)
    for _, stream in inputs:
        while text := await process.read(stream):
            await process.write(text)
    return inputs.code


def _count_option(argv: list[str], letters: str) -> tuple[list[str], ParsedOptions]:
    """`-5` is short for `-n 5`."""
    words = [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in argv]
    return words, parse_options(words, letters)


@program("head")
async def head(process: Process, argv: list[str]) -> int:
    _, options = _count_option(argv, "nc")
    count = number(options.get("c") if "c" in options else options.get("n", "10"))
    if count is None:
        return await process.complain("head: invalid number")
    inputs = await _open(process, "head", options.operands)
    for path, stream in inputs:
        if len(options.operands) > 1:
            await process.write(f"==> {path} <==\n")
        if "c" in options:
            await _copy_characters(process, stream, count)
        else:
            for _ in range(count):
                if not (line := await process.read_line(stream)):
                    break
                await process.write(line)
    return inputs.code


async def _copy_characters(process: Process, stream: Stream, count: int) -> None:
    while count > 0 and (text := await process.read(stream)):
        if len(text) > count:
            stream.push_back(text[count:])
        await process.write(text[:count])
        count -= len(text)


@program("tail")
async def tail(process: Process, argv: list[str]) -> int:
    _, options = _count_option(argv, "ncs")
    wanted = options.get("c") if "c" in options else options.get("n", "10")
    count = number(wanted)
    if count is None:
        return await process.complain(f"tail: invalid number '{wanted}'")
    follow = "f" in options or "F" in options or "follow" in options
    shown: dict[str, int] = {}
    inputs = await _open(process, "tail", options.operands)
    for path, stream in inputs:
        text = await process.read_all(stream)
        shown[path] = len(text)
        if len(options.operands) > 1:
            await process.write(f"==> {path} <==\n")
        await process.write(_end_of(text, count, from_start=wanted.startswith("+"), characters="c" in options))
    if follow:
        await _follow(process, [path for path in options.operands if path != "-"], shown)
    return inputs.code


def _end_of(text: str, count: int, *, from_start: bool, characters: bool) -> str:
    if characters:
        return text[max(0, count - 1) :] if from_start else text[len(text) - min(abs(count), len(text)) :]
    lines = text.splitlines(keepends=True)
    if from_start:
        return "".join(lines[max(0, count - 1) :])
    return "".join(lines[len(lines) - min(abs(count), len(lines)) :])


async def _follow(process: Process, paths: list[str], shown: dict[str, int]) -> None:
    """Show what is added to the files, for ever, also to those that are not there yet. Costs nothing at rest."""
    files = process.kernel.files
    absolutes = [absolute(process, path) for path in paths]
    volumes = {id(volume): volume for volume in (files.locate(path)[0] for path in absolutes)}
    for volume in volumes.values():
        volume.watchers[process.wake] = None
    try:
        while True:
            for path, location in zip(paths, absolutes, strict=True):
                file = files.file(location)
                before = shown.get(path, 0)
                if file is None or file.size == before:
                    continue
                shown[path] = file.size
                await process.write(file.text[before:] if file.size > before else file.text)
            await rest()
    finally:
        for volume in volumes.values():
            volume.watchers.pop(process.wake, None)


@program("wc")
async def wc(process: Process, argv: list[str]) -> int:
    options = parse_options(argv)
    columns = [letter for letter in "lwc" if letter in options] or ["l", "w", "c"]
    inputs = await _open(process, "wc", options.operands)
    totals = [0, 0, 0]
    shown = 0
    for path, stream in inputs:
        text = await process.read_all(stream)
        counts = {"l": text.count("\n"), "w": len(text.split()), "c": len(text.encode())}
        totals = [total + counts[letter] for total, letter in zip(totals, "lwc", strict=True)]
        await process.write(_counts(counts, columns, "" if path == "-" else path))
        shown += 1
    if shown > 1:
        await process.write(_counts(dict(zip("lwc", totals, strict=True)), columns, "total"))
    return inputs.code


def _counts(counts: dict[str, int], columns: list[str], name: str) -> str:
    numbers = str(counts[columns[0]]) if len(columns) == 1 else "".join(f"{counts[letter]:10d}" for letter in columns)
    return f"{numbers} {name}".rstrip() + "\n"


@program("grep", "egrep", "fgrep")
async def grep(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "emABC")
    operands = options.operands
    if "e" not in options and not operands:
        return await process.complain("grep: no pattern given") + 1
    pattern = options.get("e") if "e" in options else operands.pop(0)
    fixed, extended = "F" in options or argv[0] == "fgrep", "E" in options or argv[0] == "egrep"
    try:
        expression = re.escape(pattern) if fixed else pattern if extended else from_basic(pattern)
        expression = rf"\b(?:{expression})\b" if "w" in options else expression
        compiled = re.compile(rf"(?:{expression})\Z" if "x" in options else expression, re.I if "i" in options else 0)
    except re.error:
        return await process.complain(f"grep: bad regex '{pattern}'") + 1
    inputs = await _open(process, "grep", operands)
    found = False
    for path, stream in inputs:
        matches = await _matching_lines(process, stream, compiled, options)
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


async def _matching_lines(
    process: Process, stream: Stream, compiled: re.Pattern[str], options: ParsedOptions
) -> list[str]:
    matches: list[str] = []
    for index, line in enumerate((await process.read_all(stream)).splitlines(), 1):
        match = compiled.match(line) if "x" in options else compiled.search(line)
        if (match is None) == ("v" in options):
            numbered = f"{index}:" if "n" in options else ""
            if "o" in options and match is not None:
                matches.extend(numbered + each[0] for each in compiled.finditer(line) if each[0])
            else:
                matches.append(numbered + line)
    return matches[: number(options.get("m", "")) or None]


def from_basic(pattern: str) -> str:
    """A basic regular expression in the extended syntax: there, the backslash makes these special, here it unmakes."""
    swapped = re.sub(r"\\?[(){}|+?]", lambda match: match[0][1] if len(match[0]) == 2 else "\\" + match[0], pattern)
    return re.sub(r"\[\[:(\w+):\]\]", lambda match: {"space": r"\s", "digit": r"\d"}.get(match[1], r"\w"), swapped)


@program("sort")
async def sort(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "kt")
    inputs = await _open(process, "sort", options.operands)
    lines: list[str] = []
    for _, stream in inputs:
        lines.extend((await process.read_all(stream)).splitlines())
    if "u" in options:
        lines = list(dict.fromkeys(lines))

    def leading_number(line: str) -> tuple[float, str]:
        match = re.match(r"\s*(-?\d+(?:\.\d+)?)", line)
        return (float(match[1]) if match else 0.0, line)

    lines.sort(key=leading_number if "n" in options else None, reverse="r" in options)
    await process.write("".join(line + "\n" for line in lines))
    return inputs.code


@program("uniq")
async def uniq(process: Process, argv: list[str]) -> int:
    options = parse_options(argv)
    inputs = await _open(process, "uniq", options.operands[:1])
    runs: list[tuple[str, int]] = []
    for _, stream in inputs:
        for line in (await process.read_all(stream)).splitlines():
            if runs and runs[-1][0] == line:
                runs[-1] = (line, runs[-1][1] + 1)
            else:
                runs.append((line, 1))
    await process.write("".join(f"{count:7d} {line}\n" if "c" in options else f"{line}\n" for line, count in runs))
    return inputs.code


@program("cut")
async def cut(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "dfcb")
    delimiter = options.get("d", "\t")
    by_field = "f" in options
    chosen = options.get("f") or options.get("c") or options.get("b")
    if not re.fullmatch(r"[\d,-]+", chosen):
        return await process.complain("cut: expected a list of bytes, characters, or fields")
    inputs = await _open(process, "cut", options.operands)
    for _, stream in inputs:
        for line in (await process.read_all(stream)).splitlines():
            if by_field and delimiter not in line:
                await process.write(line + "\n")
                continue
            units = line.split(delimiter) if by_field else list(line)
            picked = [unit for index, unit in enumerate(units, 1) if _is_chosen(index, chosen)]
            await process.write((delimiter if by_field else "").join(picked) + "\n")
    return inputs.code


def _is_chosen(index: int, chosen: str) -> bool:
    for item in chosen.split(","):
        first, dash, last = item.partition("-")
        low = int(first or 1)
        high = int(last) if last else (1 << 30 if dash else low)
        if low <= index <= high:
            return True
    return False


@program("tr")
async def tr(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, mixed=False)
    sets = [_characters(operand) for operand in options.operands]
    if not sets:
        return await process.complain("tr: missing operand")
    members = set(sets[0])
    kept = {char: char for char in members}
    if len(sets) > 1 and sets[1]:
        kept = {char: sets[1][min(index, len(sets[1]) - 1)] for index, char in enumerate(sets[0])}
    while text := await process.read(process.stream(0)):
        if "d" in options:
            text = "".join(char for char in text if (char in members) == ("c" in options))
        else:
            text = "".join(kept.get(char, char) for char in text)
            if "s" in options:
                text = re.sub(f"([{re.escape(''.join(set(kept.values())))}])\\1+", r"\1", text)
        await process.write(text)
    return 0


def _characters(operand: str) -> str:
    for name, members in (
        ("upper", "A-Z"),
        ("lower", "a-z"),
        ("digit", "0-9"),
        ("space", " \\t\\n\\r"),
        ("alnum", "A-Za-z0-9"),
    ):
        operand = operand.replace(f"[:{name}:]", members)
    operand = operand.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r").replace("\\0", "\0")
    return re.sub(
        r"(.)-(.)", lambda match: "".join(map(chr, range(ord(match[1]), ord(match[2]) + 1))), operand, flags=re.S
    )


_SUBSTITUTION = re.compile(
    r"s(?P<mark>[/|#,:@])(?P<old>(?:\\.|(?!(?P=mark)).)*)(?P=mark)(?P<new>(?:\\.|(?!(?P=mark)).)*)(?P=mark)(?P<flags>[gI]*)"
)


@program("sed")
async def sed(process: Process, argv: list[str]) -> int:
    """Only `s/old/new/` and its flags, several of them separated by semicolons."""
    options = parse_options(argv, "e")
    script = options.get("e") if "e" in options else (options.operands.pop(0) if options.operands else "")
    commands = list(_SUBSTITUTION.finditer(script))
    if not commands or re.sub(_SUBSTITUTION, "", script).strip("; \n"):
        process.kernel.note(f"of sed only substitutions are simulated, not {script!r}: the text is left as it is")
        commands = []
    extended = "E" in options or "r" in options
    inputs = await _open(process, "sed", options.operands)
    for path, stream in inputs:
        lines = (await process.read_all(stream)).splitlines(keepends=True)
        try:
            text = "".join(_substituted(line, commands, extended) for line in lines)
        except re.error:
            return await process.complain("sed: bad regex")
        if "i" in options and path != "-":
            open_for_writing(process, path, append=False).poll_write(text)
        else:
            await process.write(text)
    return inputs.code


def _substituted(line: str, commands: list[re.Match[str]], extended: bool) -> str:
    for command in commands:
        old = command["old"].replace(f"\\{command['mark']}", command["mark"])
        new = re.sub(r"(?<!\\)&", r"\\g<0>", command["new"].replace(f"\\{command['mark']}", command["mark"]))
        flags = re.I if "I" in command["flags"] else 0
        line = re.sub(
            old if extended else from_basic(old), new, line, count=0 if "g" in command["flags"] else 1, flags=flags
        )
    return line


@program("tee")
async def tee(process: Process, argv: list[str]) -> int:
    options = parse_options(argv)
    targets: list[Stream] = []
    code = 0
    for path in options.operands:
        try:
            targets.append(open_for_writing(process, path, append="a" in options))
        except FileFault as fault:
            code = await process.complain(f"tee: {path}: {fault}")
    while text := await process.read(process.stream(0)):
        await process.write(text)
        for target in targets:
            target.poll_write(text)
    return code

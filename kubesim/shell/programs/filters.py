"""Programs that read files or their standard input: cat, head, tail, wc, sort, uniq, cut, tr, tee."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import groupby

from kubesim.shell.kernel.devices import absolute, open_for_reading, open_for_writing
from kubesim.shell.kernel.files import FileFault
from kubesim.shell.kernel.kernel import Process, suspend
from kubesim.shell.kernel.streams import Stream
from kubesim.shell.limits import CHARACTERS_PER_STEP
from kubesim.shell.programs.options import ParsedOptions, number, parse_options
from kubesim.shell.programs.registry import program
from kubesim.values import part


@part
class Inputs:
    """The inputs of a filter, in order. An unreadable file prints an error and sets the code to 1."""

    streams: list[tuple[str, Stream]]
    code: int

    def __iter__(self) -> Iterator[tuple[str, Stream]]:
        return iter(self.streams)


async def open_inputs(process: Process, name: str, paths: list[str]) -> Inputs:
    inputs = Inputs([], 0)
    for path in paths or ["-"]:
        try:
            inputs.streams.append((path, process.stream(0) if path == "-" else open_for_reading(process, path)))
        except FileFault as fault:
            what = f"can't open '{path}'" if name in ("cat", "tail", "sort") else path
            inputs.code = await process.complain(f"{name}: {what}: {fault}")
    return inputs


@program("cat")
async def cat(process: Process, argv: list[str]) -> int:
    inputs = await open_inputs(process, "cat", parse_options(argv).operands)
    for _, stream in inputs:
        while text := await process.read(stream):
            await process.write(text)
    return inputs.code


def _count_option(argv: list[str], letters: str) -> tuple[list[str], ParsedOptions]:
    """Rewrite `-5` as `-n 5`."""
    words = [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in argv]
    return words, parse_options(words, letters)


@program("head")
async def head(process: Process, argv: list[str]) -> int:
    _, options = _count_option(argv, "nc")
    count = number(options.get("c") if "c" in options else options.get("n", "10"))
    if count is None:
        return await process.complain("head: invalid number")
    inputs = await open_inputs(process, "head", options.operands)
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
    inputs = await open_inputs(process, "tail", options.operands)
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
    """Print text appended to the files, forever, including files that do not exist yet. Costs nothing while idle."""
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
                if process.spend():
                    await process.pause()
                await process.write(file.text[before:] if file.size > before else file.text)
            await suspend()
    finally:
        for volume in volumes.values():
            volume.watchers.pop(process.wake, None)


@program("wc")
async def wc(process: Process, argv: list[str]) -> int:
    options = parse_options(argv)
    columns = [letter for letter in "lwc" if letter in options] or ["l", "w", "c"]
    inputs = await open_inputs(process, "wc", options.operands)
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


@program("sort")
async def sort(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "kt")
    inputs = await open_inputs(process, "sort", options.operands)
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
    inputs = await open_inputs(process, "uniq", options.operands[:1])
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
    ranges = _ranges(chosen)
    inputs = await open_inputs(process, "cut", options.operands)
    for _, stream in inputs:
        for line in (await process.read_all(stream)).splitlines():
            if process.spend(len(ranges) // CHARACTERS_PER_STEP):
                await process.pause()
            if by_field and delimiter not in line:
                await process.write(line + "\n")
                continue
            units = line.split(delimiter) if by_field else line
            picked = [unit for low, high in ranges for unit in units[low - 1 : high]]
            await process.write((delimiter if by_field else "").join(picked) + "\n")
    return inputs.code


def _ranges(chosen: str) -> list[tuple[int, int | None]]:
    """`1,3-5,7-` as sorted (first, last) without overlaps; None: to the end."""
    given = []
    for item in chosen.split(","):
        first, dash, last = item.partition("-")
        low = max(1, int(first or 1))
        given.append((low, int(last) if last else sys.maxsize if dash else low))
    ranges: list[tuple[int, int | None]] = []
    reached = 0
    for low, high in sorted(given):
        if high > reached:
            ranges.append((max(low, reached + 1), high))
            reached = high
    return ranges


@program("tr")
async def tr(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, mixed=False)
    sets = [_characters(operand) for operand in options.operands]
    if not sets:
        return await process.complain("tr: missing operand")
    members = set(sets[0])
    changes: dict[int, str | None] = {}
    if len(sets) > 1 and sets[1]:
        changes = {ord(char): sets[1][min(index, len(sets[1]) - 1)] for index, char in enumerate(sets[0])}
    squeezed = set(changes.values()) or members
    while text := await process.read(process.stream(0)):
        process.spend_on(text)
        if "d" in options and "c" in options:
            text = "".join(filter(members.__contains__, text))
        elif "d" in options:
            text = text.translate(dict.fromkeys(map(ord, members)))
        else:
            text = text.translate(changes)
            if "s" in options:
                text = "".join(char for char, run in groupby(text) for char in (char if char in squeezed else run))
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

"""`tar` as `kubectl cp` uses it, on standard streams or files.

Bytes that are not UTF-8 pass through text streams unchanged (`surrogateescape`).
"""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Iterator

from kubesim.shell.kernel.devices import absolute, open_for_reading, open_for_writing
from kubesim.shell.kernel.files import FileFault
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.streams import Stream
from kubesim.shell.kernel.terminal import encode
from kubesim.shell.limits import FILE_LIMIT
from kubesim.shell.programs.registry import program
from kubesim.values import part

_WITH_VALUE = {"f": "file", "C": "directory"}
_IGNORED = frozenset("zmpovhk-")  # only the compression would differ


@part
class _Options:
    paths: list[str]
    action: str = ""
    file: str = "-"
    directory: str = "."
    strip: int = 0


@program("tar")
async def tar(process: Process, argv: list[str]) -> int:
    options = _options(argv[1:])
    if options is None or not options.action:
        return await process.complain("tar: must specify one of -c, -x and -t")
    try:
        if options.action == "c":
            return await _create(process, options)
        data = encode(await process.read_all(_source(process, options)))
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            return await _read(process, archive, options)
    except FileFault as fault:
        return await process.complain(f"tar: {options.file}: {fault}")
    except (tarfile.TarError, EOFError):
        return await process.complain("tar: invalid tar magic")


def _options(words: list[str]) -> _Options | None:
    options, waiting = _Options([]), list[str]()
    for number, word in enumerate(words):
        if waiting:
            setattr(options, waiting.pop(0), word)
        elif word.startswith("--strip-components="):
            options.strip = int(word.partition("=")[2] or 0)
        elif word.startswith("--"):
            continue
        elif (word.startswith("-") and len(word) > 1) or number == 0:
            for letter in word.lstrip("-"):
                if letter in "cxt":
                    options.action = letter
                elif letter in _WITH_VALUE:
                    waiting.append(_WITH_VALUE[letter])
                elif letter not in _IGNORED:
                    return None
        else:
            options.paths.append(word)
    return None if waiting else options


def _source(process: Process, options: _Options) -> Stream:
    return process.stream(0) if options.file == "-" else open_for_reading(process, options.file)


async def _create(process: Process, options: _Options) -> int:
    base = absolute(process, options.directory)
    packed, code = io.BytesIO(), 0
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for given in options.paths:
            path = posixpath.normpath(posixpath.join(base, given))
            if not process.kernel.files.exists(path):
                code = await process.complain(f"tar: {given}: No such file or directory")
                continue
            if given.startswith("/"):
                await process.write("tar: removing leading '/' from member names\n", 2)
            for inside, member in _walk(process, path, given.lstrip("/") or "."):
                file = process.kernel.files.file(inside)
                entry = tarfile.TarInfo(member)
                entry.mtime = 0 if file is None else file.modified // 1_000_000
                entry.mode = 0o755 if file is None or file.executable else 0o644
                content = b"" if file is None else encode(file.text)
                entry.type = tarfile.DIRTYPE if file is None else tarfile.REGTYPE
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    text = packed.getvalue().decode("utf-8", "surrogateescape")
    if options.file == "-":
        await process.write(text)
    else:
        open_for_writing(process, options.file, append=False).poll_write(text)
    return code


def _walk(process: Process, path: str, member: str) -> Iterator[tuple[str, str]]:
    """A path and, for a directory, everything below it."""
    files = process.kernel.files
    yield path, member
    if files.file(path) is None:
        for name in files.names(path):
            yield from _walk(process, posixpath.join(path, name), posixpath.join(member, name))


async def _read(process: Process, archive: tarfile.TarFile, options: _Options) -> int:
    files, now = process.kernel.files, process.kernel.clock.now()
    base = absolute(process, options.directory)
    if options.action == "x" and not files.is_directory(base):
        problem = f"tar: can't change directory to '{options.directory}': No such file or directory"
        return await process.complain(problem)
    for member in archive:
        name = "/".join(posixpath.normpath(member.name).split("/")[options.strip :])
        if not name or name.startswith("..") or (options.paths and member.name not in options.paths):
            continue
        if options.action == "t":
            await process.write(f"{member.name}\n")
            continue
        path = posixpath.join(base, name.lstrip("/"))
        if member.isdir():
            files.make_directory(path, parents=True)
        elif member.isfile():
            if member.size > FILE_LIMIT:
                return await process.complain(f"tar: {name}: No space left on device")
            files.make_directory(posixpath.dirname(path), parents=True)
            content = archive.extractfile(member)
            file = files.create(path, now, truncate=True)
            file.executable = bool(member.mode & 0o100)
            text = b"" if content is None else content.read()
            files.locate(path)[0].append(file, text.decode("utf-8", "surrogateescape"), now)
    return 0

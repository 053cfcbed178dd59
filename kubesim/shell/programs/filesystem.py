"""Programs for the file tree: touch, rm, mkdir, ls, cp, mv, ln, chmod, mktemp, pwd."""

from __future__ import annotations

import posixpath
from datetime import UTC, datetime

from kubesim.shell.kernel.devices import absolute
from kubesim.shell.kernel.files import IS_DIRECTORY, NOT_FOUND, File, FileFault
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.users import NOT_PERMITTED
from kubesim.shell.programs.options import ParsedOptions, parse_options
from kubesim.shell.programs.registry import ProgramResult, quick


@quick("touch")
def touch(process: Process, argv: list[str]) -> ProgramResult:
    options = parse_options(argv, "drt")
    kernel, err = process.kernel, ""
    for operand in options.operands:
        path = absolute(process, operand)
        if kernel.files.is_directory(path) or ("c" in options and not kernel.files.exists(path)):
            continue
        try:
            kernel.files.create(path, kernel.clock.now()).modified = kernel.clock.now()
        except FileFault as fault:
            err += f"touch: {operand}: {fault}\n"
    return ProgramResult(1 if err else 0, "", err)


@quick("rm", "unlink", "rmdir")
def rm(process: Process, argv: list[str]) -> ProgramResult:
    options = parse_options(argv)
    recursive = "r" in options or "R" in options or argv[0] == "rmdir"
    files, err = process.kernel.files, ""
    for operand in options.operands:
        path = absolute(process, operand)
        try:
            if argv[0] == "rmdir" and files.names(path):
                raise FileFault("Directory not empty")
            files.remove(path, recursive=recursive)
        except FileFault as fault:
            if "f" in options and str(fault) == NOT_FOUND:
                continue
            if str(fault) == IS_DIRECTORY:
                err += f"rm: '{operand}' is a directory\n"
            else:
                err += f"rm: can't remove '{operand}': {fault}\n"
    return ProgramResult(1 if err else 0, "", err)


@quick("mkdir")
def mkdir(process: Process, argv: list[str]) -> ProgramResult:
    options = parse_options(argv, "m")
    err = ""
    for operand in options.operands:
        try:
            process.kernel.files.make_directory(absolute(process, operand), parents="p" in options)
        except FileFault as fault:
            err += f"mkdir: can't create directory '{operand}': {fault}\n"
    return ProgramResult(1 if err else 0, "", err)


@quick("ls")
def ls(process: Process, argv: list[str]) -> ProgramResult:
    options = parse_options(argv)
    files, out, err = process.kernel.files, list[str](), ""
    operands = options.operands or ["."]
    for operand in operands:
        path = absolute(process, operand)
        if "d" in options or files.file(path) is not None:
            if not files.exists(path):
                err += f"ls: {operand}: {NOT_FOUND}\n"
                continue
            out.append(_listed(process, path, operand, options))
            continue
        try:
            names = files.names(path)
        except FileFault as fault:
            err += f"ls: {operand}: {fault}\n"
            continue
        if len(operands) > 1:
            out.append(f"{operand}:")
        if "a" not in options and "A" not in options:
            names = [name for name in names if not name.startswith(".")]
        if "l" in options:
            out.append(f"total {4 * len(names)}")
        out.extend(_listed(process, posixpath.join(path, name), name, options) for name in names)
    return ProgramResult(1 if err else 0, "".join(line + "\n" for line in out), err)


def _listed(process: Process, path: str, name: str, options: ParsedOptions) -> str:
    if "l" not in options:
        return name
    file = process.kernel.files.file(path)
    moment = datetime.fromtimestamp((file.modified if file else 0) / 1_000_000, UTC)
    mode = "drwxr-xr-x" if file is None else "-rwxr-xr-x" if file.executable else "-rw-r--r--"
    return f"{mode}    1 root     root     {4096 if file is None else file.size:9d} {moment:%b %e %H:%M} {name}"


@quick("cp", "mv", "ln")
def cp(process: Process, argv: list[str]) -> ProgramResult:
    """Copy or move. A link is a copy, as nothing here modifies a file with several names."""
    options = parse_options(argv)
    name = argv[0].rpartition("/")[2]
    if len(options.operands) < 2:
        return ProgramResult(1, "", f"{name}: missing file operand\n")
    *sources, target = options.operands
    files, err = process.kernel.files, ""
    into = absolute(process, target)
    recursive = name != "cp" or bool({"r", "R", "a"} & options.values.keys())
    for source in sources:
        path = absolute(process, source)
        destination = posixpath.join(into, posixpath.basename(path)) if files.is_directory(into) else into
        try:
            _copy(process, path, destination, recursive)
            if name == "mv":
                files.remove(path, recursive=True)
        except FileFault as fault:
            if name != "ln":  # a dangling link is allowed
                err += f"{name}: can't {'rename' if name == 'mv' else 'stat'} '{source}': {fault}\n"
    return ProgramResult(1 if err else 0, "", err)


def _copy(process: Process, source: str, destination: str, recursive: bool) -> None:
    files, now = process.kernel.files, process.kernel.clock.now()
    file = files.file(source)
    if file is not None:
        files.put(destination, File(file.text, now, file.executable))
        return
    if not files.is_directory(source):
        raise FileFault(NOT_FOUND)
    if not recursive:
        raise FileFault("omitting directory")
    names = files.names(source)
    files.make_directory(destination, parents=True)
    for name in names:
        child = posixpath.join(source, name)
        if child != destination:
            _copy(process, child, posixpath.join(destination, name), recursive)


_CALLS = {"chmod": ("chmod", "fchmodat"), "chown": ("chown", "fchownat")}


@quick("chmod", "chown")
def chmod(process: Process, argv: list[str]) -> ProgramResult:
    operands = [word for word in argv[1:] if word != "-R"]
    err = ""
    for operand in operands[1:]:
        path = absolute(process, operand)
        if not process.kernel.files.exists(path):
            err += f"{argv[0]}: {operand}: {NOT_FOUND}\n"
        elif not process.kernel.permissions.allow("", *_CALLS[argv[0]]):
            err += f"{argv[0]}: {operand}: {NOT_PERMITTED}\n"
        elif argv[0] == "chmod" and (file := process.kernel.files.file(path)) is not None:
            file.executable = _sets_executable(operands[0])
    return ProgramResult(1 if err else 0, "", err)


def _sets_executable(mode: str) -> bool:
    if mode.isdigit():
        return any(int(digit) & 1 for digit in mode[-3:])
    return "x" in mode and "-x" not in mode


@quick("mktemp")
def mktemp(process: Process, argv: list[str]) -> ProgramResult:
    options = parse_options(argv, "p")
    name = f"/tmp/tmp.{process.kernel.random().randrange(16**6):06x}"
    try:
        if "d" in options:
            process.kernel.files.make_directory(name)
        else:
            process.kernel.files.create(name, process.kernel.clock.now())
    except FileFault as fault:
        return ProgramResult(1, "", f"mktemp: {fault}\n")
    return ProgramResult(0, name + "\n")


@quick("pwd")
def pwd(process: Process, argv: list[str]) -> ProgramResult:
    return ProgramResult(0, process.directory + "\n")


@quick("readlink", "realpath")
def realpath(process: Process, argv: list[str]) -> ProgramResult:
    return ProgramResult(0, "".join(absolute(process, operand) + "\n" for operand in parse_options(argv).operands))

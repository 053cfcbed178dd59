"""Files on this machine: directories whose files are replaced all together, and removal that stays inside.

Mirrors: pkg/volume/util/atomic_writer.go
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping

from kubesim.clock.wall import unique_name
from kubesim.runtime.volume_directories import PathKind

_DATA = "..data"
_KINDS: tuple[tuple[int, PathKind], ...] = (
    (stat.S_IFREG, "file"),
    (stat.S_IFDIR, "directory"),
    (stat.S_IFSOCK, "socket"),
    (stat.S_IFCHR, "character device"),
    (stat.S_IFBLK, "block device"),
)


def write_all(directory: str, files: Mapping[str, str]) -> bool:
    """The directory gets exactly these files. True if the files have changed; a reader sees either all old or all
    new ones."""
    os.makedirs(directory, mode=0o755, exist_ok=True)
    old = os.path.join(directory, os.readlink(f"{directory}/{_DATA}")) if os.path.islink(f"{directory}/{_DATA}") else ""
    if old and texts(old) == dict(files):
        return False
    version = f"..{unique_name(8)}"
    os.mkdir(f"{directory}/{version}", 0o755)
    for name, text in files.items():
        path = _inside(f"{directory}/{version}", name)
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o644)
    os.symlink(version, f"{directory}/{version}.link")
    os.rename(f"{directory}/{version}.link", f"{directory}/{_DATA}")
    _link_names(directory, {name.split("/")[0] for name in files})
    if old:
        shutil.rmtree(old, ignore_errors=True)
    return bool(old)


def write_file(path: str, text: str) -> None:
    """A reader sees either the old or the new text."""
    os.makedirs(os.path.dirname(path), mode=0o750, exist_ok=True)
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


def _link_names(directory: str, names: set[str]) -> None:
    """What a container sees: a link for each name, which leads through `..data`."""
    present = {name for name in os.listdir(directory) if not name.startswith("..")}
    for name in present - names:
        os.unlink(f"{directory}/{name}")
    for name in names - present:
        os.symlink(f"{_DATA}/{name}", f"{directory}/{name}")


def texts(directory: str) -> dict[str, str]:
    """The regular files below a directory, by relative path."""
    found = {}
    for above, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(above, name)
            with open(path, errors="replace") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


def _inside(directory: str, path: str) -> str:
    """Raises ValueError for a path that leads out of the directory."""
    joined = os.path.normpath(os.path.join(directory, path))
    if not joined.startswith(f"{directory}/"):
        raise ValueError(f"{path} leads out of its directory")
    return joined


def is_within(directory: str, path: str) -> bool:
    """Whether the path, with all links followed, is in the directory or the directory itself."""
    real, above = os.path.realpath(path), os.path.realpath(directory)
    return real == above or real.startswith(f"{above}/")


def path_kind(path: str) -> PathKind | None:
    try:
        mode = stat.S_IFMT(os.stat(path).st_mode)
    except OSError:
        return None
    return next((kind for number, kind in _KINDS if number == mode), None)


def read_text(path: str) -> str | None:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return None


def remove_tree(directory: str) -> str:
    """Remove a directory that is ours. Nothing is removed through a link or on another file system: if something is
    mounted below, the directory stays, and the result reports it."""
    if not os.path.isdir(directory) or os.path.islink(directory):
        return ""
    mounted = [point for point in _mount_points() if point == directory or point.startswith(f"{directory}/")]
    if mounted:
        return f"{directory}: {mounted[0]} is mounted"
    problems: list[str] = []
    shutil.rmtree(directory, onerror=lambda call, path, error: problems.append(f"{path}: {error[1]}"))
    return problems[0] if problems else ""


def _mount_points() -> list[str]:
    with open("/proc/self/mountinfo") as file:
        points = [line.split()[4] for line in file]
    return [point.encode().decode("unicode_escape") for point in points]

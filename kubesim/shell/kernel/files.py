"""The file system of a simulated container: a root, and mounted volumes, which containers may share.

A `Volume` is a tree of text files by path. The caller fills it (`write`, `remove`) for ConfigMaps, emptyDirs and logs.
`VirtualFiles` is one container's view: its root with the usual directories of an image, and its mounts.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from kubesim.shell.language.patterns import MAGIC, compile_pattern
from kubesim.shell.limits import ENTRY_LIMIT, FILE_LIMIT, NAME_LIMIT, PATH_LIMIT, VOLUME_LIMIT
from kubesim.values import value_object

# Without the leading slash. The content of images is not modelled, so the usual directories simply exist.
STANDARD_DIRECTORIES = frozenset(
    """
    app bin code config data dev etc etc/init.d etc/nginx etc/nginx/conf.d etc/ssl etc/ssl/certs home lib lib64 logs
    media mnt opt proc root run run/secrets sbin shared srv sys tmp usr usr/bin usr/lib usr/local usr/local/bin
    usr/local/lib usr/local/share usr/sbin usr/share usr/share/nginx usr/share/nginx/html usr/src usr/src/app var
    var/cache var/lib var/lib/mysql var/lib/postgresql var/log var/log/nginx var/run var/spool var/tmp var/www
    var/www/html work workspace
    """.split()  # noqa: SIM905 (a list of sixty strings is no easier to read)
)


class FileFault(Exception):
    """A failed file operation; the text is Linux's (`No such file or directory`)."""


NOT_FOUND = "No such file or directory"
IS_DIRECTORY = "Is a directory"
NOT_DIRECTORY = "Not a directory"
READ_ONLY = "Read-only file system"
EXISTS = "File exists"
NO_SPACE = "No space left on device"
BUSY = "Resource busy"
NAME_TOO_LONG = "File name too long"


class File:
    """The content of a file. An open file outlives its name."""

    __slots__ = ("_pieces", "executable", "modified", "size")

    def __init__(self, text: str = "", modified: int = 0, executable: bool = False) -> None:
        self._pieces = [text] if text else []
        self.size = len(text)
        self.modified = modified
        self.executable = executable

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def append(self, text: str, now: int) -> None:
        self._pieces.append(text)
        self.size += len(text)
        self.modified = now

    def truncate(self, now: int) -> None:
        self._pieces.clear()
        self.size = 0
        self.modified = now


class Volume:
    """A tree of files. Paths are relative to its root, without a leading slash; the root is ``""``."""

    __slots__ = ("_entries", "_names", "_used", "watchers")

    def __init__(self, files: Mapping[str, str] | None = None, now: int = 0) -> None:
        self._entries: dict[str, File | None] = {}  # None: a directory
        self._names: dict[str, list[str]] | None = None  # by directory, filled on first use
        self._used = 0  # size in characters, recounted before the volume is considered full
        self.watchers: dict[Callable[[], None], None] = {}  # called after every change, in order of registration
        for path, text in (files or {}).items():
            self.write(path, text, now)

    # For callers of the shell: parent directories are created.

    def write(self, path: str, text: str, now: int = 0, *, executable: bool = False) -> None:
        parent = posixpath.dirname(path) if "/" in path else ""
        while parent:
            self._entries.setdefault(parent, None)
            parent = posixpath.dirname(parent)
        self._entries[path] = File(text, now, executable)
        self._names = None
        self.changed()

    def replace(self, files: Mapping[str, str], now: int = 0) -> None:
        """Replace all files atomically: a reader sees the old or the new ones."""
        self._entries = Volume(files, now)._entries
        self._names = None
        self.changed()

    def copy(self) -> Volume:
        """A copy that shares files: a write to a file is visible in both, its replacement is not."""
        copy = Volume()
        copy._entries.update(self._entries)
        return copy

    def ensure_directory(self, path: str) -> None:
        """Create a directory and its parents, unless the path exists."""
        while path and path not in self._entries:
            self._entries[path] = None
            self._names = None
            path = posixpath.dirname(path)

    def read(self, path: str) -> str | None:
        """The text of a file, None if there is no such file."""
        entry = self._entries.get(path)
        return None if entry is None else entry.text

    def texts(self) -> dict[str, str]:
        """All files."""
        return {path: entry.text for path, entry in self._entries.items() if entry is not None}

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its content."""
        for other in [other for other in self._entries if other == path or other.startswith(path + "/")]:
            del self._entries[other]
        self._names = None
        self.changed()

    # For the container's files.

    def get(self, path: str) -> File | None:
        return self._entries.get(path)

    def is_directory(self, path: str) -> bool:
        return not path or (path in self._entries and self._entries[path] is None)

    def has_below(self, start: str) -> bool:
        return any(path.startswith(start) for path in self._entries)

    def put(self, path: str, entry: File | None) -> None:
        if len(self._entries) >= ENTRY_LIMIT:
            raise FileFault(NO_SPACE)
        if entry is not None:
            self._use(entry, 0 if self._entries.get(path) is entry else entry.size)
        self._entries[path] = entry
        self._names = None
        self.changed()

    def append(self, file: File, text: str, now: int) -> None:
        """Append to one of its files."""
        self._use(file, len(text))
        file.append(text, now)
        self.changed()

    def _use(self, file: File, size: int) -> None:
        """Reserve space for a file. Space of removed or truncated files is found by recounting."""
        self._used += size
        if self._used > VOLUME_LIMIT:
            self._used = size + sum(entry.size for entry in self._entries.values() if entry is not None)
        if self._used > VOLUME_LIMIT or file.size + size > FILE_LIMIT:
            self._used = min(self._used - size, VOLUME_LIMIT)
            raise FileFault(NO_SPACE)

    def names(self, directory: str) -> list[str]:
        if self._names is None:
            self._names = {}
            for path in self._entries:
                parent, _, name = path.rpartition("/")
                self._names.setdefault(parent, []).append(name)
        return self._names.get(directory, [])

    def changed(self) -> None:
        for watcher in tuple(self.watchers):
            watcher()


@value_object
class Mount:
    """A volume, or one entry of it (`sub_path`, possibly a file), at a path of the container."""

    path: str
    volume: Volume
    sub_path: str = ""
    read_only: bool = False


_LATE = ("/etc", "/proc")


class VirtualFiles:
    """The file system of one container. All paths are absolute; errors are `FileFault`."""

    __slots__ = ("_late", "_mounts", "read_only", "root")

    def __init__(
        self,
        root: Volume | None = None,
        *,
        read_only: bool = False,
        late: Callable[[VirtualFiles], None] | None = None,
    ) -> None:
        """`late` mounts the files below /etc and /proc on first access."""
        self.root = root if root is not None else Volume()
        self.read_only = read_only
        self._late = late
        self._mounts: tuple[Mount, ...] = ()  # longest path first

    def mount(self, path: str, volume: Volume, *, sub_path: str = "", read_only: bool = False) -> None:
        mount = Mount(normal(path), volume, sub_path.strip("/"), read_only)
        mounts = [other for other in self._mounts if other.path != mount.path]
        mounts.append(mount)
        if len(mounts) > 1:
            mounts.sort(key=lambda each: (-len(each.path), each.path))
        self._mounts = tuple(mounts)

    def locate(self, path: str) -> tuple[Volume, str, bool]:
        """The volume, the path in it, and whether it is read-only."""
        path = normal(path)
        if self._late is not None and path.startswith(_LATE):
            late, self._late = self._late, None
            late(self)
        for mount in self._mounts:
            if path == mount.path or path.startswith(mount.path.rstrip("/") + "/"):
                inner = path[len(mount.path) :].strip("/")
                key = f"{mount.sub_path}/{inner}".strip("/") if inner else mount.sub_path
                return mount.volume, key, mount.read_only
        return self.root, path[1:], self.read_only

    # Questions.

    def file(self, path: str) -> File | None:
        volume, key, _ = self.locate(path)
        return volume.get(key)

    def is_directory(self, path: str) -> bool:
        volume, key, _ = self.locate(path)
        if volume.is_directory(key) or (volume is self.root and key in STANDARD_DIRECTORIES):
            return True
        below = normal(path) + "/"
        return any(mount.path.startswith(below) for mount in self._mounts)

    def has_own(self, directory: str) -> bool:
        """Whether anything was mounted or written below a directory; the late files do not count."""
        inner = f"{directory.strip('/')}/"
        return any(f"{mount.path}/".startswith(f"/{inner}") for mount in self._mounts) or self.root.has_below(inner)

    def exists(self, path: str) -> bool:
        return self.file(path) is not None or self.is_directory(path)

    def read(self, path: str) -> str:
        return self.open(path).text

    def open(self, path: str) -> File:
        """Open a file for reading."""
        file = self.file(path)
        if file is None:
            raise FileFault(IS_DIRECTORY if self.is_directory(path) else NOT_FOUND)
        return file

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        if not self.is_directory(path):
            raise FileFault(NOT_DIRECTORY if self.file(path) is not None else NOT_FOUND)
        volume, key, _ = self.locate(path)
        found = set(volume.names(key))
        prefix = key + "/" if key else ""
        if volume is self.root:
            found.update(
                name[len(prefix) :].partition("/")[0] for name in STANDARD_DIRECTORIES if name.startswith(prefix)
            )
        below = normal(path).rstrip("/") + "/"
        found.update(
            mount.path[len(below) :].partition("/")[0] for mount in self._mounts if mount.path.startswith(below)
        )
        found.discard("")
        return sorted(found)

    # Changes.

    def _writable(self, path: str) -> tuple[Volume, str]:
        volume, key, read_only = self.locate(path)
        if read_only:
            raise FileFault(READ_ONLY)
        if len(path) >= PATH_LIMIT or len(path) - path.rfind("/") - 1 > NAME_LIMIT:
            raise FileFault(NAME_TOO_LONG)
        return volume, key

    def create(self, path: str, now: int, *, truncate: bool = False) -> File:
        """Open a file for writing, created if missing."""
        volume, key = self._writable(path)
        file = volume.get(key)
        if file is not None:
            if truncate:
                file.truncate(now)
                volume.changed()
            return file
        if self.is_directory(path):
            raise FileFault(IS_DIRECTORY)
        parent = posixpath.dirname(normal(path))
        if not self.is_directory(parent):
            raise FileFault(NOT_DIRECTORY if self.file(parent) is not None else NOT_FOUND)
        file = File("", now)
        volume.put(key, file)
        return file

    def make_directory(self, path: str, *, parents: bool = False) -> None:
        if self.exists(path):
            if parents and self.is_directory(path):
                return
            raise FileFault(EXISTS)
        parent = posixpath.dirname(normal(path))
        if not self.is_directory(parent):
            if not parents:
                raise FileFault(NOT_FOUND)
            self.make_directory(parent, parents=True)
        volume, key = self._writable(path)
        volume.put(key, None)

    def remove(self, path: str, *, recursive: bool = False) -> None:
        if not self.exists(path):
            raise FileFault(NOT_FOUND)
        if self.is_directory(path) and not recursive:
            raise FileFault(IS_DIRECTORY)
        volume, key = self._writable(path)
        if key and volume.get(key) is not None and any(mount.path == normal(path) for mount in self._mounts):
            raise FileFault(BUSY)
        volume.remove(key)

    def put(self, path: str, file: File) -> None:
        """Give a copied or moved file this name."""
        volume, key = self._writable(path)
        parent = posixpath.dirname(normal(path))
        if not self.is_directory(parent):
            raise FileFault(NOT_FOUND)
        volume.put(key, file)

    def glob(self, pattern: str, spend: Callable[[int], object] = lambda steps: None) -> list[str]:
        """Paths that match an absolute pattern, sorted; only a dot matches a leading dot. `spend` is called with the
        number of steps.
        """
        found = ["/"]
        for part in pattern.strip("/").split("/"):
            step: list[str] = []
            for base in found:
                if not self.is_directory(base):
                    continue
                if not MAGIC.search(part):
                    candidate = posixpath.join(base, part.replace("\\", ""))
                    step.extend([candidate] if self.exists(candidate) else ())
                    continue
                compiled = compile_pattern(part, NAME_LIMIT)
                names = self.names(base)
                spend(1 + len(names) // 8)
                step.extend(
                    posixpath.join(base, name)
                    for name in names
                    if compiled.fullmatch(name) and (part.startswith(".") or not name.startswith("."))
                )
            found = step
        return found


def normal(path: str) -> str:
    """An absolute path without `.`, `..` and double slashes."""
    if path == "/" or ("//" not in path and "/." not in path and not path.endswith("/")):
        return path
    path = posixpath.normpath(path)
    return path[1:] if path.startswith("//") else path

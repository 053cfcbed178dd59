"""The file source's view of its path: a directory of manifests, or a single file.

`simulated_files.py` and `real_files.py` implement it. Symbolic links are followed; errors have the kubelet's messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from kubesim.values import value_object

MAX_CONFIG_LENGTH = 10 << 20  # bytes; a manifest of this size is too long
MISSING = "path does not exist, ignoring"
LIMIT_REACHED = "the read limit is reached"
PATH_ITSELF = ""  # the source's path itself, where other names are files in the directory

Kind = Literal["missing", "directory", "file", "other"]
Change = Literal["add", "modify", "delete"]


class FileProblem(Exception):
    """A file cannot be examined or read; the text is that of Go's os package."""


class FileMissing(FileProblem):
    """The file does not exist."""


@value_object
class FileEvent:
    """A watch event. A rewrite counts as modified, and so does a change of permissions."""

    name: str
    change: Change


class ManifestWatcher(Protocol):
    """Callbacks for changes of manifests."""

    def changed(self, event: FileEvent) -> None: ...

    def cannot_watch(self, problem: FileProblem) -> None:
        """The watch failed; it will be retried."""
        ...


class ManifestFiles(Protocol):
    path: str
    is_real: bool  # files can change without an event of the simulation

    def kind(self, name: str = PATH_ITSELF) -> Kind:
        """Whether the path is a directory, a file or missing. Raises FileProblem."""
        ...

    def names(self) -> list[str]:
        """The sorted names in the directory; empty if it cannot be listed."""
        ...

    def read(self, name: str = PATH_ITSELF) -> str:
        """The file's text. Raises FileProblem."""
        ...

    def watch(self, watcher: ManifestWatcher) -> Callable[[], None]:
        """Report changes from now on; call the returned function to stop."""
        ...

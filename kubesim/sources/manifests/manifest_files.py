"""What the file source needs from its path: a directory of manifests, or a single file.

`simulated_files.py` and `real_files.py` implement it. Links are followed; problems have the kubelet's texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from kubesim.values import value_object

MAX_CONFIG_LENGTH = 10 << 20  # bytes; a manifest as long as this is too long
MISSING = "path does not exist, ignoring"
LIMIT_REACHED = "the read limit is reached"
PATH_ITSELF = ""  # the name that stands for the path of the source, where others are names in the directory

Kind = Literal["missing", "directory", "file", "other"]
Change = Literal["add", "modify", "delete"]


class FileProblem(Exception):
    """Something cannot be looked at or read; the text is what Go's os package says."""


class FileMissing(FileProblem):
    """... because it does not exist."""


@value_object
class FileEvent:
    """What a watch reports. Written again counts as modified, and so does a change of permissions."""

    name: str
    change: Change


class ManifestWatcher(Protocol):
    """Callers that need changes register for them."""

    def changed(self, event: FileEvent) -> None: ...

    def cannot_watch(self, problem: FileProblem) -> None:
        """The watch does not work now; it will be tried again."""
        ...


class ManifestFiles(Protocol):
    path: str
    is_real: bool  # files can change although nothing happened here

    def kind(self, name: str = PATH_ITSELF) -> Kind:
        """Raises FileProblem if that cannot be found out."""
        ...

    def names(self) -> list[str]:
        """Everything in the directory, sorted; what cannot be listed has nothing in it."""
        ...

    def read(self, name: str = PATH_ITSELF) -> str:
        """Raises FileProblem."""
        ...

    def watch(self, watcher: ManifestWatcher) -> Callable[[], None]:
        """Tell changes from now on; the answer ends it."""
        ...

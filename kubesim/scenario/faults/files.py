"""The disk of a node with faults: writes that fail, are torn, or crash the kubelet. A torn file keeps the first half of
its text.

The kubelet's state files have no text here; each is represented by the state at the last write, and whether it is
damaged. After a crash of the kubelet nothing is written until it starts again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar

from kubesim.runtime.allocation.state_file import StateFile, content_of, restore_content
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.helper import SandboxConfigError
from kubesim.runtime.images.pull_records import PullRecords
from kubesim.scenario.faults.decide import DEFAULT_ERROR, Operation, Outcome
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.sources.checkpoint import CheckpointError, CheckpointStore
from kubesim.sources.manifests.simulated_files import SimulatedFiles
from kubesim.values import replace

FileContent = Literal["new", "old", "torn"]  # the content of a file after a write
T = TypeVar("T")
PULLED = "image_manager/pulled/"


def content_after(outcome: Outcome | None) -> FileContent:
    if outcome is not None and outcome.fault.is_power_failure:
        return "torn"
    if outcome is None or (outcome.kind != "torn" and outcome.fault.moment == "after"):
        return "new"
    if outcome.kind == "crash" and not ends_kubelet(outcome):
        return "new"
    return "torn" if outcome.kind == "torn" else "old"


def ends_kubelet(outcome: Outcome) -> bool:
    """Whether it is a crash of the kubelet or its node."""
    return outcome.fault.crash is not None and outcome.fault.crash.what in ("kubelet", "node")


class InterceptedFiles(SimulatedFiles):
    """The static pod directory. The writer does not notice a failed write: the old text stays."""

    def __init__(self, path: str, node: str, interceptor: Interceptor) -> None:
        super().__init__(path)
        self._node, self._interceptor = node, interceptor

    def write(self, name: str, text: str) -> None:
        operation = Operation("disk", "WriteStaticPod", self._node, subject=name)
        outcome = self._interceptor.decide(operation)
        left = content_after(outcome)
        if left != "old":
            super().write(name, text if left == "new" else half(text))
        if outcome is not None and outcome.kind == "crash":
            self._interceptor.start_crash(operation, outcome)


def half(text: str) -> str:
    return text[: len(text) // 2]


class CniCacheWrites:
    """The results of ADD that libcni caches for DEL. libcni overwrites the file in place, so a failed write leaves an
    empty file."""

    def __init__(self, node: str, interceptor: Interceptor) -> None:
        self._node, self._interceptor = node, interceptor

    def __call__(self, name: str, content: bytes) -> bytes:
        operation = Operation("disk", "WriteCniCache", self._node, subject=name)
        outcome = self._interceptor.decide(operation)
        if outcome is not None and outcome.kind == "crash":
            self._interceptor.start_crash(operation, outcome)
        left = content_after(outcome)
        return content if left == "new" else content[: len(content) // 2] if left == "torn" else b""


class StateFiles:
    """The state files of one node's kubelet."""

    def __init__(self, node: str, interceptor: Interceptor) -> None:
        self._node, self._interceptor = node, interceptor
        self.damaged: set[str] = set()
        self._states: dict[str, tuple[StateFile, dict[str, Any]]] = {}  # each file with its content
        self._empty: dict[str, dict[str, Any]] = {}
        self._by_name = _NamedFiles(self)
        self._pulls = PullRecords()
        self._is_down = False

    def on_disk(self, disk: KubeletDisk) -> KubeletDisk:
        """The disk whose writes go through these files."""
        self.watch("allocated_pods_state", disk.allocated)
        self.watch("actuated_pods_state", disk.actuated)
        self._pulls = disk.pulls
        disk.pulls.on_write = lambda image_ref: self.write(PULLED + image_ref)
        return replace(disk, state_files=self._by_name, user_namespaces=_UsernsFiles(self))

    def watch(self, file: str, state: StateFile) -> None:
        self._states[file] = state, content_of(state)
        self._empty[file] = content_of(state)
        state.on_write = partial(self._state_changed, file)

    def _state_changed(self, file: str) -> None:
        if self.write(file)[0] == "new":
            state, _ = self._states[file]
            self._states[file] = state, content_of(state)

    def write(self, file: str) -> tuple[FileContent, str]:
        """The kubelet writes a file. Returns what the file holds then, and the error of the write (empty: none)."""
        if self._is_down:
            return "old", ""
        operation = Operation("disk", "WriteCheckpoint", self._node, subject=file)
        outcome = self._interceptor.decide(operation)
        left = content_after(outcome)
        if left == "torn":
            self.damaged.add(file)
        elif left == "new":
            self.damaged.discard(file)
        if outcome is None or outcome.kind != "crash":
            return left, (outcome.fault.error or DEFAULT_ERROR) if outcome and outcome.kind == "error" else ""
        self._is_down = ends_kubelet(outcome)
        self._interceptor.start_crash(operation, outcome)
        return left, ""

    def remove(self, file: str) -> bool:
        """Remove a file, as a user would. Returns whether it existed."""
        if file in self._states:
            state, _ = self._states[file]
            self._states[file] = state, self._empty[file]
        elif self._by_name.pop(file, None) is None and file not in self.damaged:
            return False
        self.damaged.discard(file)
        return True

    def kubelet_starts(self) -> None:
        """Load the states from the files, as a starting kubelet does."""
        self._is_down = False
        for state, content in self._states.values():
            restore_content(state, content)
        self._pulls.unreadable = {name.removeprefix(PULLED) for name in self.damaged if name.startswith(PULLED)}


class _NamedFiles(dict[str, Any]):
    """The state files of the container manager. A torn one has no content."""

    def __init__(self, files: StateFiles) -> None:
        super().__init__()
        self._files = files

    def __setitem__(self, name: str, value: Any) -> None:
        left, _ = self._files.write(name)
        if left == "new":
            super().__setitem__(name, value)
        elif left == "torn":
            self.pop(name, None)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Add the state of a manager, and intercept its writes from now on."""
        if name not in self:
            super().__setitem__(name, default)
            if hasattr(default, "on_write"):
                self._files.watch(name, default)
        return self[name]


class _UsernsFiles(dict[str, str]):
    """The `userns` file in each pod's directory, by uid."""

    def __init__(self, files: StateFiles) -> None:
        super().__init__()
        self._files = files

    def __setitem__(self, uid: str, text: str) -> None:
        left, error = self._files.write(f"pods/{uid}/userns")
        if left != "old":
            super().__setitem__(uid, text if left == "new" else half(text))
        if error:
            raise SandboxConfigError(error)


class InterceptedCheckpoints:
    """Implements `CheckpointStore`: the bootstrap checkpoints of a kubelet of v1.12."""

    def __init__(self, inner: CheckpointStore, files: StateFiles) -> None:
        self._inner, self._files = inner, files
        self.names: Callable[[], list[str]] = inner.names
        self.read: Callable[[str], str] = inner.read
        self.remove: Callable[[str], None] = inner.remove

    def write(self, name: str, text: str) -> None:
        left, error = self._files.write(name)
        if left != "old":
            self._inner.write(name, text if left == "new" else half(text))
        if error:
            raise CheckpointError(error)

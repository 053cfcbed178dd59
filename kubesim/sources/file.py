"""The file source: static pods from a manifest directory. Changes apply immediately, and every 20 s it reads all files
again.

As upstream, pods are stored by pod name, not by file: if two files define the same pod, the last one read wins, and
removing either file removes the pod until the next full read. `ManifestFiles` provides the files.

Mirrors: pkg/kubelet/config/file.go sourceFile, file_linux.go consumeWatchEvent
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency import TaskSet, Ticker
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.sources.config import ConfigStream
from kubesim.sources.manifests.manifest_files import (
    MISSING,
    PATH_ITSELF,
    FileEvent,
    FileMissing,
    FileProblem,
    ManifestFiles,
)
from kubesim.sources.manifests.static_pod import Manifest, StaticPods, read_manifest, shown
from kubesim.trace import Recorder
from kubesim.trace.records import Note

SOURCE = "file"
CHECK_PERIOD = 20 * SECOND


class FileSource:
    """The file source. `start` reads all files; `stop` ends the watch and the checks."""

    def __init__(
        self,
        clock: LoopClock,
        tasks: TaskSet,
        recorder: Recorder,
        config: ConfigStream,
        files: ManifestFiles,
        node_name: str,
        *,
        period: int = CHECK_PERIOD,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._recorder = recorder
        self._config = config
        self._files = files
        self._node_name = node_name
        self._period = period
        self._gates = gates
        self._store: dict[str, Pod] = {}  # namespace/name -> wanted pod
        self._reported: list[Pod] | None = None  # last list sent to the mux
        self._key_of_file: dict[str, str] = {}
        self._known: dict[str, tuple[str, StaticPods]] = {}  # file -> its text and parsed pods
        self._problems: dict[str, str] = {}  # file -> its last problem
        self._ticker: Ticker | None = None
        self._checks: asyncio.Task[None] | None = None
        self._stop_watch: Callable[[], None] | None = None

    def start(self) -> None:
        self._ticker = Ticker(self._clock, "file check", self._period)
        self._stop_watch = self._files.watch(self)
        self._checks = self._tasks.start("file source", self._check(self._ticker))
        self._list()

    def stop(self) -> None:
        if self._stop_watch is not None and self._ticker is not None and self._checks is not None:
            self._stop_watch()
            self._ticker.stop()
            self._checks.cancel()
            self._stop_watch = None

    def withdraw(self) -> None:
        """Report that no pod is wanted, whatever the files contain."""
        self.stop()
        self._send_list([])

    async def _check(self, ticker: Ticker) -> None:
        while True:
            await ticker.channel.receive()
            self._recorder.because(None)
            reported = self._reported
            self._list()
            ticker.done(0 if self._files.is_real or self._reported is not reported else NEVER)

    # -- full read ----------------------------------------------------------------------------------------------

    def _list(self) -> None:
        """Read all files. A missing or empty path reports no pods, but the store keeps its pods."""
        try:
            pods = self._pods()
        except FileProblem as problem:
            self._note(PATH_ITSELF, str(problem), f"Unable to read config path {self._files.path}: {problem}")
            return
        if not pods:
            self._send_list([])
            return
        self._store = {_key(pod): pod for pod in pods}
        self._send_list(list(self._store.values()))

    def _pods(self) -> list[Pod]:
        kind = self._files.kind()
        if kind == "missing":
            self._send_list([])
            raise FileMissing(MISSING)
        if kind == "other":
            raise FileProblem("path is not a directory or file")
        if kind == "file":
            return [self._pod_in(PATH_ITSELF)]
        self._problems.pop(PATH_ITSELF, None)
        return self._pods_in_directory()

    def _pods_in_directory(self) -> list[Pod]:
        names = [name for name in self._files.names() if not name.startswith(".")]
        pods = [pod for name in names if (pod := self._pod_in_directory(name)) is not None]
        for gone in (self._known.keys() | self._problems.keys()) - {*names, PATH_ITSELF}:
            self._known.pop(gone, None)
            self._problems.pop(gone, None)
        return pods

    def _pod_in_directory(self, name: str) -> Pod | None:
        """The pod of one file; an invalid manifest must not affect the others."""
        path = self._path(name)
        try:
            kind = self._files.kind(name)
        except FileProblem as problem:
            self._note(name, str(problem), f"Could not get metadata of {path}: {problem}")
            return None
        if kind == "directory":
            self._note(name, kind, f"Manifest path {path} is a directory, not recursing into it")
        elif kind == "other":
            self._note(name, kind, f"Manifest path {path} is not a directory or file")
        elif kind == "file":
            try:
                return self._pod_in(name)
            except FileMissing:
                pass  # it was deleted after the listing
            except FileProblem as problem:
                self._note(name, str(problem), f"Could not process manifest file {path}: {problem}")
        return None

    # -- watch events -------------------------------------------------------------------------------------------

    def changed(self, event: FileEvent) -> None:
        """Handle a watch event. The directory may contain other changes that are not reported yet."""
        if not event.name.startswith("."):
            self._clock.call_at(self._clock.now(), self._consume, event)

    def cannot_watch(self, problem: FileProblem) -> None:
        if isinstance(problem, FileMissing):
            self._send_list([])
        self._note(PATH_ITSELF, str(problem), f"Unable to read config path {self._files.path}: {problem}")

    def _consume(self, event: FileEvent) -> None:
        if self._stop_watch is None:
            return
        if event.change != "delete":
            try:
                pod = self._pod_in(event.name)
            except FileMissing:
                return  # another event will report it
            except FileProblem as problem:
                text = f"Unable to process watch event: can't process config file {quoted(self._path(event.name))}"
                self._note(event.name, str(problem), f"{text}: {problem}")
                return
            self._store[_key(pod)] = pod
        else:
            key = self._key_of_file.get(event.name)
            if key not in self._store:
                return  # this file defined no pod, or another file's removal already removed it
            del self._store[key], self._key_of_file[event.name]
        self._send_list(list(self._store.values()))

    # -- helpers ------------------------------------------------------------------------------------------------

    def _send_list(self, pods: list[Pod]) -> None:
        """Send the list to the mux, unless it is unchanged."""
        reported = self._reported
        if reported is None or len(pods) != len(reported) or any(map(_differ, pods, reported)):
            self._reported = pods
            self._config.snapshot(SOURCE, pods)

    def _pod_in(self, name: str) -> Pod:
        """The pod of a file; an unchanged text is not parsed again."""
        text = self._files.read(name)
        known = self._known.get(name)
        if known is None or known[0] != text:
            manifest = Manifest("file", self._path(name), self._node_name, text)
            known = self._known[name] = (text, read_manifest(manifest, self._gates))
        found = known[1]
        if not found.pods:
            raise FileProblem(found.error)
        self._problems.pop(name, None)
        pod = found.pods[0]
        self._key_of_file[name] = _key(pod)
        return pod

    def _path(self, name: str) -> str:
        return f"{self._files.path}/{name}" if name else self._files.path

    def _note(self, name: str, problem: str, text: str) -> None:
        """Report a problem once, until it changes."""
        if self._problems.get(name) != problem:
            self._problems[name] = problem
            self._recorder.record(Note(node=self._node_name, text=shown(text)))


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _differ(one: Pod, other: Pod) -> bool:
    return one is not other

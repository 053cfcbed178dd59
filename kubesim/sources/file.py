"""The file source: a directory of manifests, each a static pod. Changes take effect immediately; every 20 s everything
is read again.

What the source wants is kept by pod name, not by file: of two files with the same pod the one read last wins, and the
removal of either takes the pod away until the next reading of everything. Where the files are is another's matter
(`ManifestFiles`).

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
    """`start` reads everything; `stop` ends the watch and the checks."""

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
        self._store: dict[str, Pod] = {}  # namespace/name -> what is wanted
        self._reported: list[Pod] | None = None  # what the mux heard last
        self._key_of_file: dict[str, str] = {}
        self._known: dict[str, tuple[str, StaticPods]] = {}  # file -> its text, and what that means
        self._problems: dict[str, str] = {}  # file -> what was last wrong with it
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
        """Want nothing any more, whatever the files say."""
        self.stop()
        self._tell([])

    async def _check(self, ticker: Ticker) -> None:
        while True:
            await ticker.channel.receive()
            self._recorder.because(None)
            reported = self._reported
            self._list()
            ticker.done(0 if self._files.is_real or self._reported is not reported else NEVER)

    # -- everything ---------------------------------------------------------------------------------------------

    def _list(self) -> None:
        """Read everything. What is missing or empty says that nothing is wanted, but does not empty the store."""
        try:
            pods = self._pods()
        except FileProblem as problem:
            self._note(PATH_ITSELF, str(problem), f"Unable to read config path {self._files.path}: {problem}")
            return
        if not pods:
            self._tell([])
            return
        self._store = {_key(pod): pod for pod in pods}
        self._tell(list(self._store.values()))

    def _pods(self) -> list[Pod]:
        kind = self._files.kind()
        if kind == "missing":
            self._tell([])
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
        """An invalid manifest must not affect the others."""
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
                pass  # it went while we looked
            except FileProblem as problem:
                self._note(name, str(problem), f"Could not process manifest file {path}: {problem}")
        return None

    # -- one change ---------------------------------------------------------------------------------------------

    def changed(self, event: FileEvent) -> None:
        """Received at the same instant; the view of the whole directory may differ from that of one file."""
        if not event.name.startswith("."):
            self._clock.call_at(self._clock.now(), self._consume, event)

    def cannot_watch(self, problem: FileProblem) -> None:
        if isinstance(problem, FileMissing):
            self._tell([])
        self._note(PATH_ITSELF, str(problem), f"Unable to read config path {self._files.path}: {problem}")

    def _consume(self, event: FileEvent) -> None:
        if self._stop_watch is None:
            return
        if event.change != "delete":
            try:
                pod = self._pod_in(event.name)
            except FileMissing:
                return  # and an event will report it
            except FileProblem as problem:
                text = f"Unable to process watch event: can't process config file {quoted(self._path(event.name))}"
                self._note(event.name, str(problem), f"{text}: {problem}")
                return
            self._store[_key(pod)] = pod
        else:
            key = self._key_of_file.get(event.name)
            if key not in self._store:
                return  # no pod came from this file, or it went with another file
            del self._store[key], self._key_of_file[event.name]
        self._tell(list(self._store.values()))

    # -- helpers ------------------------------------------------------------------------------------------------

    def _tell(self, pods: list[Pod]) -> None:
        """Sends the list to the mux, unless it is unchanged."""
        reported = self._reported
        if reported is None or len(pods) != len(reported) or any(map(_differ, pods, reported)):
            self._reported = pods
            self._config.snapshot(SOURCE, pods)

    def _pod_in(self, name: str) -> Pod:
        """The pod that a file wants. A text is parsed once; an unchanged text costs nothing."""
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
        """Each problem once, until it is another one."""
        if self._problems.get(name) != problem:
            self._problems[name] = problem
            self._recorder.record(Note(node=self._node_name, text=shown(text)))


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _differ(one: Pod, other: Pod) -> bool:
    return one is not other

"""The volume directories of a node with faults: MountVolume and UnmountVolume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.timestamps import MINUTE
from kubesim.kubelet.volumes.spec import VolumeError
from kubesim.runtime.volume_directories import SlowVolume, VolumeDirectories, VolumeDirectory
from kubesim.scenario.faults.decide import DEFAULT_ERROR, Operation, Outcome, ends_operation
from kubesim.scenario.faults.interceptor import Interceptor

HANGS = 24 * 60 * MINUTE  # longer than any wait for volumes


class InterceptedVolumes:
    """Implements `VolumeDirectories`. The fault of a mount with latency is decided when the mount begins, and takes
    effect when it ends."""

    def __init__(
        self, inner: VolumeDirectories, node: str, interceptor: Interceptor, pod_name: Callable[[str], str]
    ) -> None:
        self._inner, self._node, self._interceptor, self._pod_name = inner, node, interceptor, pod_name
        self._begun: dict[tuple[str, str], Outcome] = {}  # mounts with latency, in progress

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def set_up(self, uid: str, directory: VolumeDirectory, files: Mapping[str, str] | None) -> bool:
        return bool(self._mount(uid, directory, lambda: self._inner.set_up(uid, directory, files)))

    def bind(self, uid: str, directory: VolumeDirectory, path: str, *, shared: bool = False) -> None:
        self._mount(uid, directory, lambda: self._inner.bind(uid, directory, path, shared=shared))

    def _mount(self, uid: str, directory: VolumeDirectory, mount: Callable[[], bool | None]) -> bool | None:
        operation = self._operation("MountVolume", uid, " ".join(directory.names))
        outcome = self._begun.pop((uid, directory.volume_name), None)
        if outcome is None:
            self._interceptor.passed("before", operation)
            outcome = self._interceptor.decide(operation)
            if outcome is not None and (outcome.latency or outcome.kind == "hang"):
                self._begun[uid, directory.volume_name] = outcome
                raise SlowVolume(HANGS if outcome.kind == "hang" else outcome.latency)
        result = self._apply(operation, outcome, mount)
        self._interceptor.passed("after", operation)
        return result

    def tear_down(self, uid: str, volume_name: str) -> None:
        names = [name for name, found in self._inner.of_pod(uid).items() if found.volume_name == volume_name]
        operation = self._operation("UnmountVolume", uid, " ".join(names))
        self._interceptor.passed("before", operation)
        outcome = self._interceptor.decide(operation)
        self._apply(operation, outcome, lambda: self._inner.tear_down(uid, volume_name))
        self._interceptor.passed("after", operation)

    def _apply(self, operation: Operation, outcome: Outcome | None, act: Callable[[], bool | None]) -> bool | None:
        if outcome is None or outcome.kind == "late":
            return act()
        if outcome.kind == "crash" and not ends_operation(outcome, operation):
            self._interceptor.start_crash(operation, outcome)
            return act()
        if outcome.fault.moment == "after":
            act()
        if outcome.kind == "crash":
            self._interceptor.start_crash(operation, outcome)
        raise VolumeError(outcome.fault.error or DEFAULT_ERROR)

    def _operation(self, name: str, uid: str, volume: str) -> Operation:
        return Operation("volume", name, self._node, self._pod_name(uid), subject=volume)

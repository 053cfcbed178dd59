"""The pods of the runtime as they were last listed: what did not change since then is the same object again."""

from __future__ import annotations

from collections.abc import Container, Sequence
from operator import is_

from kubesim.runtime.pod_listing import ContainerRecords, runtime_pod
from kubesim.runtime.protocol import ContainerInfo, SandboxInfo
from kubesim.runtime.types import RuntimePod


class _KnownPod:
    """A listing, what it was made of, and the records of its containers."""

    __slots__ = ("containers", "pod", "records", "sandboxes")

    sandboxes: list[SandboxInfo]
    containers: list[ContainerInfo]
    pod: RuntimePod

    def __init__(self) -> None:
        self.records = ContainerRecords()


class KnownPods:
    """By uid, until the runtime knows a pod no more."""

    def __init__(self) -> None:
        self._pods: dict[str, _KnownPod] = {}

    def listing(self, uid: str, sandboxes: list[SandboxInfo], containers: list[ContainerInfo]) -> RuntimePod:
        known = self._pods.get(uid)
        if known is None:
            known = self._pods[uid] = _KnownPod()
        elif same_objects(known.sandboxes, sandboxes) and same_objects(known.containers, containers):
            return known.pod
        known.sandboxes, known.containers = sandboxes, containers
        known.pod = runtime_pod(uid, sandboxes, containers)
        return known.pod

    def pod(self, uid: str) -> RuntimePod | None:
        """As it was last listed."""
        known = self._pods.get(uid)
        return None if known is None else known.pod

    def records(self, uid: str) -> ContainerRecords | None:
        known = self._pods.get(uid)
        return None if known is None else known.records

    def forget(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def forget_all_but(self, uids: Container[str]) -> None:
        for uid in [uid for uid in self._pods if uid not in uids]:
            del self._pods[uid]


def same_objects(known: Sequence[object], found: Sequence[object]) -> bool:
    return len(known) == len(found) and all(map(is_, known, found))

"""A container of a pod has at most one running instance.

The kubelet starts a container again only after its previous instance has ended: computePodActions keeps a running
container, or kills it and waits for StopContainer before it starts the next one.
"""

from __future__ import annotations

from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen


def started(pod: PodSeen, info: ContainerInfo, now: int) -> str:
    for other in pod.running.values():
        if other.name == info.name and other.id != info.id:
            return f"container {info.name} started as {info.id[:12]} while {other.id[:12]} was still running"
    return ""


INVARIANT = Invariant("one-instance", started=started)

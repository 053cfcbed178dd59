"""No container runs for a pod that is gone.

A pod that was removed from the API server is stopped by its kubelet: HandlePodRemoves makes its worker terminate it,
and housekeeping kills the containers of a pod without a worker (HandlePodCleanups). A static pod is gone when its
mirror pod is. From the moment at which a worker terminates a pod, no container of it starts any more.

Exceptions: a forced deletion removes the pod first, so its containers run until the worker has stopped them. A SyncPod
that had begun before is not interrupted, and may still pull an image and start a container. A pod without a worker must
have ended 30 s later; that time counts only while the kubelet, the runtime and the connection to the API server work.
"""

from __future__ import annotations

from kubesim.api.timestamps import SECOND
from kubesim.golang.text import duration
from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen

TIMEOUT = 30 * SECOND


def is_forgotten(pod: PodSeen, now: int) -> bool:
    """Whether the kubelet considers the pod ended or unknown, and has had time to notice its running containers."""
    since = pod.node.undisturbed_since
    if pod.gone_at is None or since is None or now <= max(pod.gone_at, since) + TIMEOUT:
        return False
    worker = pod.node.worker(pod.spec.metadata.uid)
    return worker is None or worker.terminated_at is not None


def started(pod: PodSeen, info: ContainerInfo, now: int) -> str:
    worker = pod.node.worker(pod.spec.metadata.uid)
    if worker is not None and worker.started_terminating:
        return f"container {info.name} started although the pod is being stopped"
    return f"container {info.name} started {_gone(pod, now)}" if is_forgotten(pod, now) else ""


def ended(pod: PodSeen, info: ContainerInfo, now: int) -> str:
    return f"container {info.name} ended only {_gone(pod, now)}" if is_forgotten(pod, now) else ""


def at_end(pod: PodSeen, now: int) -> str:
    names = ", ".join(info.name for info in pod.running.values())
    return f"still running {_gone(pod, now)}: {names}" if names and is_forgotten(pod, now) else ""


def _gone(pod: PodSeen, now: int) -> str:
    assert pod.gone_at is not None
    return f"{duration(now - pod.gone_at)} after the pod was removed from the API server"


INVARIANT = Invariant("gone-pods", started=started, ended=ended, at_end=at_end)

"""A hollow node: a kubelet with a fake runtime, as kubemark starts it.

Its containers are ready immediately and never exit. It runs no probes and emits no Events. The delays are measured in
the recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.node import Node, NodeCondition
from kubesim.api.pod import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodIP,
    PodStatus,
)
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.timestamps import MILLISECOND, format_time
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent

PREFIX = "hollow-"
POD_IP = "192.168.192.168"
START = (40 * MILLISECOND, 120 * MILLISECOND)  # from the binding to Running
STOP = (20 * MILLISECOND, 950 * MILLISECOND)  # from the deletion timestamp to Succeeded
REMOVE = (750 * MILLISECOND, 1000 * MILLISECOND)  # from Succeeded to removal
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def is_hollow(name: str) -> bool:
    return name.startswith(PREFIX)


def hollow_node(item: Mapping[str, Any]) -> Node:
    """The Node object of a recorded node."""
    ready = NodeCondition(type="Ready", status=(item.get("ready") or ["True"])[0], reason="KubeletReady")
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": item["name"], "labels": item["labels"]},
        "spec": {"taints": item.get("taints") or [], "unschedulable": bool(item.get("unschedulable"))},
        "status": {"capacity": item["allocatable"], "allocatable": item["allocatable"]},
    }
    made = Node.from_json(node)
    return made.changed(status=made.status.changed(conditions=(ready,)))


class HollowNode:
    """The kubelet of a hollow node; active from creation."""

    def __init__(self, clock: LoopClock, store: Store, stream: Stream, item: Mapping[str, Any]) -> None:
        self._clock = clock
        self._store = store
        self._stream = stream
        self._name = item["name"]
        self._begun: set[str] = set()  # uids
        self._ending: set[str] = set()
        store.create(hollow_node(item))
        store.watch("Pod", self._pod_changed)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        uid = pod.metadata.uid
        if pod.spec.node_name != self._name or change.type == "DELETED":
            return
        if pod.metadata.deletion_timestamp is not None:
            if uid not in self._ending:
                self._ending.add(uid)
                self._later(STOP, self._stop, pod)
        elif uid not in self._begun:
            self._begun.add(uid)
            self._later(START, self._start, pod)

    def _later(self, span: tuple[int, int], action: Any, pod: Pod) -> None:
        moment = self._clock.now() + self._stream.randint(*span)
        self._clock.call_at(moment, action, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)

    def _find(self, namespace: str, name: str, uid: str) -> Pod | None:
        pod = self._store.find("Pod", namespace, name)
        return pod if isinstance(pod, Pod) and pod.metadata.uid == uid else None

    def _start(self, *key: str) -> None:
        pod = self._find(*key)
        if pod is not None and pod.metadata.deletion_timestamp is None:
            self._write(pod, "Running", "True", ip=True)

    def _stop(self, *key: str) -> None:
        pod = self._find(*key)
        if pod is not None:
            if pod.status.phase not in TERMINAL_PHASES:
                self._write(pod, "Succeeded", "False", ip=False)
            self._later(REMOVE, self._remove, pod)

    def _remove(self, *key: str) -> None:
        pod = self._find(*key)
        if pod is not None:
            self._store.delete("Pod", *key[:2], uid=key[2], grace_s=0)

    def _write(self, pod: Pod, phase: str, ready: str, *, ip: bool) -> None:
        now = format_time(self._clock.now())
        own = {
            type: PodCondition(
                type=type, status="True" if type == "Initialized" else ready, last_transition_time=now,
                reason="" if ready == "True" or type not in ("Ready", "ContainersReady") else "PodCompleted",
            )
            for type in _CONDITIONS
        }  # fmt: skip
        others = tuple(c for c in pod.status.conditions if c.type not in own)
        status = pod.status.changed(
            phase=phase,
            conditions=(*own.values(), *others),
            start_time=pod.status.start_time or now,
            container_statuses=tuple(_container(c.name, c.image, phase, now) for c in pod.spec.containers),
        )
        if ip:
            status = status.changed(pod_ip=POD_IP, pod_ips=(PodIP(ip=POD_IP),))
        self._set(pod, status)

    def _set(self, pod: Pod, status: PodStatus) -> None:
        self._store.set_pod_status(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, status)


def _container(name: str, image: str, phase: str, now: str) -> ContainerStatus:
    running = phase == "Running"
    state = (
        ContainerState(running=ContainerStateRunning(started_at=now))
        if running
        else ContainerState(
            terminated=ContainerStateTerminated(exit_code=0, reason="Completed", started_at=now, finished_at=now)
        )
    )
    return ContainerStatus(name=name, image=image, state=state, ready=running, started=running)

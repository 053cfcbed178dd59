"""The closed set of record kinds in a trace.

One class per kind; `KIND` is its name in the JSON. A record contains what happened, to which pod, because of which
earlier record (`cause`), the reason in one plain sentence, and the upstream function that it mirrors (`ref`). The trace
hash ignores fields that come from outside the simulation (`EXTERNAL`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, ClassVar

from kubesim.values import mutable


@mutable(kw_only=True)
class Record:
    """The fields of all records. The recorder sets `seq`, `t` and `cause`."""

    KIND: ClassVar[str] = ""
    REF: ClassVar[str] = ""
    EXTERNAL: ClassVar[frozenset[str]] = frozenset()

    seq: int = 0
    t: int = 0  # microseconds since the start
    cause: int | None = None
    node: str = ""
    pod: str = ""  # namespace/name
    uid: str = ""
    container: str = ""
    why: str = ""

    @property
    def ref(self) -> str:
        return self.REF

    def to_json(self) -> dict[str, Any]:
        """The record as one JSON object without empty fields."""
        out: dict[str, Any] = {"seq": self.seq, "t": self.t / 1_000_000, "kind": self.KIND}
        for name in _fields(type(self)):
            value = getattr(self, name)
            if value is None or value == "" or value == () or value == {}:
                continue
            out[name] = list(value) if isinstance(value, tuple) else value
        return out


_FIELDS: dict[type[Record], tuple[str, ...]] = {}
_FIRST = ("node", "pod", "uid", "container")
_LAST = ("cause", "why", "ref")


def _fields(cls: type[Record]) -> tuple[str, ...]:
    """The fields in the order of the JSON: the subject, what happened, the reason."""
    names = _FIELDS.get(cls)
    if names is None:
        common = ("seq", "t", *_FIRST, *_LAST)
        names = (*_FIRST, *(f.name for f in fields(cls) if f.name not in common), *_LAST)
        _FIELDS[cls] = names
    return names


@mutable(kw_only=True)
class SourceSnapshot(Record):
    """A source sent its full list of pods."""

    KIND: ClassVar[str] = "source.snapshot"
    REF: ClassVar[str] = "pkg/kubelet/config/config.go Updates"
    source: str = ""
    pods: int = 0


@mutable(kw_only=True)
class ConfigUpdate(Record):
    """The mux turned a snapshot into an operation."""

    KIND: ClassVar[str] = "config.update"
    REF: ClassVar[str] = "pkg/kubelet/config/config.go podStorage.Merge"
    source: str = ""
    op: str = ""
    pods: tuple[str, ...] = ()


@mutable(kw_only=True)
class LoopSelect(Record):
    """The sync loop took one item from one of its channels."""

    KIND: ClassVar[str] = "loop.select"
    REF: ClassVar[str] = "pkg/kubelet/kubelet.go syncLoopIteration"
    channel: str = ""
    ready: tuple[str, ...] = ()


@mutable(kw_only=True)
class Handler(Record):
    """A handler of the sync loop was called."""

    KIND: ClassVar[str] = "handler"
    REF: ClassVar[str] = "pkg/kubelet/kubelet.go SyncHandler"
    name: str = ""
    pods: tuple[str, ...] = ()


@mutable(kw_only=True)
class WorkerUpdate(Record):
    """A pod worker received an update (UpdatePod)."""

    KIND: ClassVar[str] = "worker.update"
    REF: ClassVar[str] = "pkg/kubelet/pod_workers.go UpdatePod"
    update: str = ""


@mutable(kw_only=True)
class WorkerState(Record):
    """A pod worker changed state: sync, terminating, terminated, finished."""

    KIND: ClassVar[str] = "worker.state"
    REF: ClassVar[str] = "pkg/kubelet/pod_workers.go podSyncStatus"
    state: str = ""


@mutable(kw_only=True)
class SyncBegin(Record):
    """A pod worker began a sync."""

    KIND: ClassVar[str] = "sync.begin"
    REF: ClassVar[str] = "pkg/kubelet/pod_workers.go podWorkerLoop"
    sync: str = ""  # SyncPod, SyncTerminatingPod, SyncTerminatingRuntimePod, SyncTerminatedPod
    update: str = ""


@mutable(kw_only=True)
class SyncEnd(Record):
    """A sync ended; the next one is due after `requeue`."""

    KIND: ClassVar[str] = "sync.end"
    REF: ClassVar[str] = "pkg/kubelet/pod_workers.go completeWork"
    sync: str = ""
    error: str = ""
    requeue: int | None = None  # microseconds until the worker syncs again


@mutable(kw_only=True)
class Actions(Record):
    """The decision of compute_pod_actions."""

    KIND: ClassVar[str] = "actions"
    REF: ClassVar[str] = "pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions"
    decision: Mapping[str, Any] = field(default_factory=dict)


@mutable(kw_only=True)
class CriCall(Record):
    """The kubelet called the container runtime."""

    KIND: ClassVar[str] = "cri.call"
    REF: ClassVar[str] = "cri-api RuntimeService"
    call: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


@mutable(kw_only=True)
class CriReturn(Record):
    """A call to the container runtime returned."""

    KIND: ClassVar[str] = "cri.return"
    REF: ClassVar[str] = "cri-api RuntimeService"
    call: str = ""
    result: Any = None
    error: str = ""


@mutable(kw_only=True)
class CniExec(Record):
    """A CNI plugin was executed."""

    KIND: ClassVar[str] = "cni.exec"
    REF: ClassVar[str] = "libcni/api.go"
    EXTERNAL: ClassVar[frozenset[str]] = frozenset({"environ", "stdin", "result", "took"})
    plugin: str = ""
    command: str = ""
    # CNI_ARGS and the other variables of the CNI specification
    environ: Mapping[str, str] = field(default_factory=dict)
    stdin: Any = None
    result: Any = None
    error: str = ""
    took: int = 0


_STEPS = {
    "containerd": {
        "RunPodSandbox": "containerd internal/cri/server/sandbox_run.go RunPodSandbox",
        "Controller.Start": "containerd internal/cri/server/podsandbox/sandbox_run.go Start",
        "NRI": "containerd internal/cri/nri/nri_api_linux.go",
        "CRI plugin": "containerd internal/cri/server/service.go",
    },
    "docker": {
        **{
            call: f"pkg/kubelet/dockershim/docker_sandbox.go {call}"
            for call in ("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus")
        },
        "NewDockerService": "pkg/kubelet/dockershim/docker_service.go NewDockerService",
        "NewMainKubelet": "pkg/kubelet/kubelet.go NewMainKubelet",
        "UnsecuredKubeletDeps": "cmd/kubelet/app/server.go UnsecuredKubeletDeps",
    },
    "kubelet": {
        "SyncPod": "pkg/kubelet/kubelet.go SyncPod",
        "createPodSandbox": "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go createPodSandbox",
        "startContainer": "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer",
    },
}


@mutable(kw_only=True)
class RuntimeStep(Record):
    """A step of the runtime within a call or its start, or a step of the kubelet within a sync. Steps of docker are
    records. Others are details: shown only with -v, numbered like the record before, not hashed.
    """

    KIND: ClassVar[str] = "runtime.step"
    REF: ClassVar[str] = "pkg/kubelet/dockertools/docker_manager.go"
    during: str = ""  # RunPodSandbox, Controller.Start, NRI, CRI plugin, NewDockerService, startContainer
    step: str = ""
    error: str = ""
    runtime: str = "containerd"  # containerd or kubelet; docker in profiles v1.6 and v1.12

    @property
    def ref(self) -> str:
        return _STEPS[self.runtime].get(self.during) or f"{self.REF} {self.during}"


@mutable(kw_only=True)
class ContainerEvent(Record):
    """A container event sent by the runtime. A detail, like `runtime.step`."""

    KIND: ClassVar[str] = "cri.event"
    REF: ClassVar[str] = "containerd internal/cri/server/helpers.go generateAndSendContainerEvent"
    type: str = ""
    id: str = ""


@mutable(kw_only=True)
class OperationPassed(Record):
    """An operation that a fault can be about begins (`before`) or has succeeded (`after`). A detail that only a run
    with observed operations has (`Trial.observed`)."""

    KIND: ClassVar[str] = "operation"
    operation: str = ""  # `runtime.CreateContainer`
    subject: str = ""  # the image, volume, network plugin, file or object
    moment: str = ""


@mutable(kw_only=True)
class PlegEvent(Record):
    """The PLEG found that a container has changed."""

    KIND: ClassVar[str] = "pleg.event"
    REF: ClassVar[str] = "pkg/kubelet/pleg/generic.go reconcilePodRecord"
    type: str = ""
    id: str = ""


@mutable(kw_only=True)
class ProbeOutcome(Record):
    """The result of a probe changed."""

    KIND: ClassVar[str] = "probe.result"
    REF: ClassVar[str] = "pkg/kubelet/prober/worker.go doProbe"
    probe: str = ""
    result: str = ""


@mutable(kw_only=True)
class StatusSet(Record):
    """The status manager accepted a new status of a pod."""

    KIND: ClassVar[str] = "status.set"
    REF: ClassVar[str] = "pkg/kubelet/status/status_manager.go updateStatusInternal"
    phase: str = ""
    version: int = 0


_NODE_STATUS = "pkg/kubelet/kubelet_node_status.go tryUpdateNodeStatus"


@mutable(kw_only=True)
class ApiWrite(Record):
    """The kubelet or another client changed an object at the API server."""

    KIND: ClassVar[str] = "api.write"
    REF: ClassVar[str] = "pkg/kubelet/status/status_manager.go syncPod"
    verb: str = ""
    resource: str = ""
    by: str = ""
    object: str = ""  # kind, namespace and name of an object other than a pod or node
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_pod_status(self) -> bool:
        """Whether the kubelet reports the status of a pod; then the summary covers the whole status."""
        return self.resource == "pods/status" and self.by == "kubelet"

    @property
    def ref(self) -> str:
        """The upstream function; empty for writes of users and other clients, which mirror nothing in the kubelet."""
        return {"pods/status": self.REF, "nodes/status": _NODE_STATUS, "pods": self.REF}.get(
            self.resource if self.by == "kubelet" else "", ""
        )


@mutable(kw_only=True)
class EventRecorded(Record):
    """An Event was emitted."""

    KIND: ClassVar[str] = "event"
    REF: ClassVar[str] = "pkg/kubelet/events/event.go"
    type: str = ""
    reason: str = ""
    message: str = ""
    field_path: str = ""
    object: str = ""  # as in ApiWrite


@mutable(kw_only=True)
class LogOutput(Record):
    """A line that a container wrote to its standard output or error."""

    KIND: ClassVar[str] = "log"
    stream: str = ""  # stdout, stderr
    text: str = ""


@mutable(kw_only=True)
class Fault(Record):
    """A fault from the scenario."""

    KIND: ClassVar[str] = "fault"
    fault: str = ""


@mutable(kw_only=True)
class Expectation(Record):
    """An expectation was fulfilled, or failed."""

    KIND: ClassVar[str] = "expect"
    expectation: str = ""
    met: bool = False


@mutable(kw_only=True)
class Note(Record):
    """Information that fits no other kind of record."""

    KIND: ClassVar[str] = "note"
    text: str = ""

    @property
    def ends_kubelet(self) -> bool:
        """Whether the kubelet of the node is gone, with everything in its memory."""
        stops = self.text.startswith("the kubelet v") and " stops;" in self.text  # before another version starts
        return stops or self.text.startswith(("the kubelet is killed", "the node is powered off"))

    @property
    def ends_runtime(self) -> bool:
        """Whether the container runtime of the node is gone, with everything in its memory."""
        return self.text.startswith(("the container runtime stops", "the node is powered off"))


KINDS: tuple[type[Record], ...] = (
    SourceSnapshot, ConfigUpdate, LoopSelect, Handler, WorkerUpdate, WorkerState, SyncBegin, SyncEnd, Actions, CriCall,
    CriReturn, CniExec, RuntimeStep, ContainerEvent, OperationPassed, PlegEvent, ProbeOutcome, StatusSet, ApiWrite,
    EventRecorded, LogOutput, Fault, Expectation, Note,
)  # fmt: skip

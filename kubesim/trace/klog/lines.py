"""The table from records of the trace to the kubelet's log lines, with their files, verbosities and keys.

Each line names its call site in kubelet v1.36.4. The kubelet logs nothing for a kind without a line: CNI calls belong
to the container runtime, faults and expectations to the simulation. The trace has only changed probe results and sync
ticks with work, so the log has these and not every probe and tick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kubesim.trace import records as r
from kubesim.trace.klog.causes import Causes
from kubesim.trace.klog.line import KlogLine, Ref, error, info
from kubesim.trace.klog.runtime_lines import call_lines, decision_lines, return_lines

_Lines = Iterator[KlogLine]


def lines(record: r.Record, causes: Causes) -> _Lines:
    """The lines that a kubelet logs for a record, in order."""
    table = _TABLE.get(type(record))
    return iter(()) if table is None else table(record, causes)


# -- sources and the sync loop ----------------------------------------------------------------------------------


def _snapshot(record: r.SourceSnapshot, causes: Causes) -> _Lines:
    yield info("config/config.go:226", 4, "Setting pods for source", source=record.source)


def _config(record: r.ConfigUpdate, causes: Causes) -> _Lines:
    for pod in record.pods if record.op == "ADD" else ():
        yield info("config/config.go:326", 4, "Receiving a new pod", pod=Ref(pod))


_OPERATIONS = {"ADD": (2709, 2), "UPDATE": (2716, 2), "REMOVE": (2719, 2), "RECONCILE": (2722, 4), "DELETE": (2725, 2)}


def _handler(record: r.Handler, causes: Causes) -> _Lines:
    """The sync loop logs the item that it received from a channel, then calls the handler."""
    pods = tuple(map(Ref, record.pods))
    chosen = causes.of(record)
    taken = causes.of(chosen)
    if record.name == "HandlePodCleanups":
        yield info("kubelet/kubelet.go:2803", 4, "SyncLoop (housekeeping)")
    elif isinstance(taken, r.ConfigUpdate) and taken.op in _OPERATIONS:
        number, v = _OPERATIONS[taken.op]
        yield info(f"kubelet/kubelet.go:{number}", v, f"SyncLoop {taken.op}", source=taken.source, pods=pods)
    elif isinstance(taken, r.PlegEvent):
        event = {"ID": taken.uid, "Type": taken.type, "Data": taken.id.rpartition("/")[2]}
        yield info("kubelet/kubelet.go:2737", 2, "SyncLoop (PLEG): event for pod", pod=pods[0], event=event)
    elif isinstance(taken, r.ProbeOutcome):
        status = _PROBE_STATUS[taken.probe][taken.result == "success"]
        yield info("kubelet/kubelet.go:2826", 1, "SyncLoop (probe)", probe=taken.probe, status=status, pod=pods[0])
    elif isinstance(chosen, r.LoopSelect) and chosen.channel == "sync":
        yield info("kubelet/kubelet.go:2756", 4, "SyncLoop (SYNC) pods", total=len(pods), pods=pods)


_PROBE_STATUS = {
    "liveness": ("unhealthy", "healthy"),  # the loop acts only on failures
    "readiness": ("not ready", "ready"),
    "startup": ("unhealthy", "started"),
}


def _pleg(record: r.PlegEvent, causes: Causes) -> _Lines:
    """The trace does not contain the states before and after, which the kubelet logs at verbosity 4."""
    code = causes.exit_code(record)
    if record.type == "ContainerDied" and code is not None:
        finished = {"podID": record.uid, "containerID": record.id.rpartition("/")[2], "exitCode": code}
        yield info("pleg/generic.go:413", 2, "Generic (PLEG): container finished", **finished)


def _probe(record: r.ProbeOutcome, causes: Causes) -> _Lines:
    about = {"probeType": record.probe.capitalize(), **_pod(record, causes), "containerName": record.container}
    # The initial result of a container, or a result set by a deletion, does not come from a probe.
    if " succeeded " in record.why:
        yield info("prober/prober.go:113", 3, "Probe succeeded", **about)
    elif " failed " in record.why:
        yield info("prober/prober.go:122", 1, "Probe failed", **about, probeResult="failure")


def _note(record: r.Note, causes: Causes) -> _Lines:
    skipping, found, problem = record.text.partition(": ")
    if found and skipping == "skipping pod synchronization":
        yield error("kubelet/kubelet.go:2646", problem, "Skipping pod synchronization")
    elif record.text in _LOOP_ERRORS:
        yield error(_LOOP_ERRORS[record.text], "", record.text)


_LOOP_ERRORS = {
    "Update channel is closed, exiting the sync loop": "kubelet/kubelet.go:2703",
    # the line of v1.35.8, the last version with this line
    "Kubelet does not support snapshot update": "kubelet/kubelet.go:2614",
}


# -- pod workers ------------------------------------------------------------------------------------------------


def _worker_update(record: r.WorkerUpdate, causes: Causes) -> _Lines:
    about = {**_pod(record, causes), "updateType": record.update}
    for words, (number, message) in _UPDATES.items():
        if record.why.startswith(words):
            yield info(f"kubelet/pod_workers.go:{number}", 4, message, **about)


# The beginning of the trace's reason -> the kubelet's line.
_UPDATES = {
    "the pod is new": (796, "Pod is being synced for the first time"),
    "put off": (861, "Pod is terminating but has been requested to restart with same UID, will be reconciled later"),
    "ignored: the worker has finished": (868, "Pod is finished processing, no further updates"),
}
_TEARDOWN = {
    "it is running, but no source": (877, "Pod is orphaned and must be torn down"),
    "it was deleted": (882, "Pod is marked for graceful deletion, begin teardown"),
    "its phase is": (887, "Pod is in a terminal phase (success/failed), begin teardown"),
    "the kubelet evicts": (892, "Pod is being evicted by the kubelet, begin teardown"),
    "the kubelet kills": (895, "Pod is being removed by the kubelet, begin teardown"),
}


def _worker_state(record: r.WorkerState, causes: Causes) -> _Lines:
    uid = {"podUID": record.uid}
    if record.state == "terminating":
        reason = record.why.removeprefix("the pod must terminate: ")
        for words, (number, message) in _TEARDOWN.items():
            if reason.startswith(words):
                yield info(f"kubelet/pod_workers.go:{number}", 4, message, **_pod(record, causes))
        if reason.startswith("SyncPod"):
            number, message = 1410, "Pod indicated lifecycle completed naturally and should now terminate"
            yield info(f"kubelet/pod_workers.go:{number}", 4, message, **uid)
    elif record.state == "terminated":
        yield info("kubelet/pod_workers.go:1439", 4, "Pod terminated all containers successfully", **uid)
    elif record.state == "finished":
        yield info("kubelet/pod_workers.go:1500", 4, "Pod is complete and the worker can now stop", **uid)
        yield info("kubelet/pod_workers.go:977", 3, "Pod worker has stopped", **uid)


_WORK = {
    "SyncPod": ("sync", 2028, 2034),
    "SyncTerminatingPod": ("terminating", 2294, 2308),
    "SyncTerminatingRuntimePod": ("terminating", 2432, 2433),
    "SyncTerminatedPod": ("terminated", 2467, 2468),
}


def _sync_begin(record: r.SyncBegin, causes: Causes) -> _Lines:
    about = _pod(record, causes)
    work, enter, _ = _WORK[record.sync]
    yield info("kubelet/pod_workers.go:1265", 4, "Processing pod event", **about, updateType=work)
    yield info(f"kubelet/kubelet.go:{enter}", 4, f"{record.sync} enter", **about)


def _sync_end(record: r.SyncEnd, causes: Causes) -> _Lines:
    about = _pod(record, causes)
    work, _, leave = _WORK[record.sync]
    # A successful sync that is requeued at once has found that the pod ended.
    terminal = {"isTerminal": not record.error and record.requeue == 0} if record.sync == "SyncPod" else {}
    yield info(f"kubelet/kubelet.go:{leave}", 4, f"{record.sync} exit", **about, **terminal)
    if record.error.endswith("context canceled"):  # wrapped errors end with their cause
        message = "Sync exited with context cancellation error"
        yield info("kubelet/pod_workers.go:1334", 2, message, **about, updateType=work)
    elif record.error:
        yield error("kubelet/pod_workers.go:1338", record.error, "Error syncing pod, skipping", **about)
    done = 1346 if work == "terminated" else 1356 if record.sync == "SyncTerminatingRuntimePod" else 1375
    yield info(f"kubelet/pod_workers.go:{done}", 4, "Processing pod event done", **about, updateType=work)


# -- the API server ---------------------------------------------------------------------------------------------


def _api_write(record: r.ApiWrite, causes: Causes) -> _Lines:
    if record.by != "kubelet":
        return
    pod = Ref(record.pod)
    if record.verb == "patch" and record.is_pod_status:
        newest = causes.of(record)
        version = {"statusVersion": newest.version} if isinstance(newest, r.StatusSet) else {}
        message = "Status for pod updated successfully"
        yield info("status/status_manager.go:1193", 3, message, pod=pod, **version, status=dict(record.summary))
    elif (record.verb, record.resource) == ("delete", "pods"):
        yield info("status/status_manager.go:1222", 3, "Pod fully terminated and removed from etcd", pod=pod)
    elif record.resource == "nodes/status":
        yield info("kubelet/kubelet_node_status.go:473", 5, "Updating node status")


def _event(record: r.EventRecorded, causes: Causes) -> _Lines:
    """Events of other components, which have no uid here, appear in the logs of those components."""
    if record.pod and not record.uid:
        return
    node = not record.pod
    if node and record.reason.startswith("Node"):
        message = "Recording event message for node"
        yield info("kubelet/kubelet_node_status.go:639", 2, message, node=Ref(record.node), event=record.reason)
    yield info(
        "record/event.go:389",
        3,
        "Event occurred",
        object=Ref(record.pod or record.node),
        fieldPath=record.field_path,
        kind="Node" if node else "Pod",
        apiVersion="v1",
        type=record.type,
        reason=record.reason,
        message=record.message,
    )


def _pod(record: r.Record, causes: Causes) -> dict[str, Any]:
    return {"pod": Ref(record.pod), "podUID": causes.uid(record)}


_TABLE: dict[type[r.Record], Callable[[Any, Causes], _Lines]] = {
    r.SourceSnapshot: _snapshot,
    r.ConfigUpdate: _config,
    r.Handler: _handler,
    r.WorkerUpdate: _worker_update,
    r.WorkerState: _worker_state,
    r.SyncBegin: _sync_begin,
    r.SyncEnd: _sync_end,
    r.Actions: decision_lines,
    r.CriCall: call_lines,
    r.CriReturn: return_lines,
    r.PlegEvent: _pleg,
    r.ProbeOutcome: _probe,
    r.ApiWrite: _api_write,
    r.EventRecorded: _event,
    r.Note: _note,
}

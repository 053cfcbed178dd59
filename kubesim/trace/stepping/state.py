"""The state of a node after part of a trace, derived from the records alone.

`Picture` has the sync loop, the workers, sandboxes and containers, calls in progress and writes to the API server;
`take` applies one record. A picture is copied before it is changed, so that earlier ones remain available.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from kubesim.trace import records as r
from kubesim.values import mutable, replace, value_object

_ENDED = re.compile(r"container \S+ ended with exit code (\d+) \((.*)\)")


@value_object
class LoopPicture:
    """The last iteration of the sync loop."""

    channel: str = ""
    ready: tuple[str, ...] = ()
    handler: str = ""
    t: int = 0
    node: str = ""


@value_object
class WorkerPicture:
    """A pod worker: its state, its pending update, its current sync, and the time of its next sync."""

    pod: str
    state: str = "syncing"
    pending: str = ""
    sync: str = ""
    since: int = 0
    error: str = ""
    due: int | None = None


@value_object
class Sandbox:
    id: str
    pod: str
    attempt: int
    state: str = "ready"
    ip: str = ""


@value_object
class ContainerPicture:
    """A container. `state`: created, running, stopping or exited; `since` is the time of the last change."""

    id: str
    pod: str
    name: str
    attempt: int
    state: str = "created"
    since: int = 0
    exit: str = ""


@value_object
class CallPicture:
    """A runtime call in progress."""

    seq: int
    call: str
    pod: str
    container: str
    t: int
    args: Mapping[str, Any] = field(default_factory=dict)


@mutable
class Picture:
    """The state of a node. Maps are keyed by uid if the records have one, else by id. `plugins` are the CNI plugin
    executions for the newest sandbox of a pod.
    """

    loop: LoopPicture = field(default_factory=LoopPicture)
    workers: dict[str, WorkerPicture] = field(default_factory=dict)
    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    containers: dict[str, ContainerPicture] = field(default_factory=dict)
    calls: dict[int, CallPicture] = field(default_factory=dict)
    statuses: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # pod -> the summary written last
    probes: dict[tuple[str, str, str], str] = field(default_factory=dict)  # pod, container, probe -> result
    node: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # node -> conditions
    notes: dict[str, str] = field(default_factory=dict)  # node -> its unusual condition
    nodes: dict[str, str] = field(default_factory=dict)  # pod -> its node
    plugins: dict[str, tuple[r.CniExec, ...]] = field(default_factory=dict)  # pod -> the executions in order

    def copy(self) -> Picture:
        return Picture(
            self.loop,
            dict(self.workers),
            dict(self.sandboxes),
            dict(self.containers),
            dict(self.calls),
            dict(self.statuses),
            dict(self.probes),
            dict(self.node),
            dict(self.notes),
            dict(self.nodes),
            dict(self.plugins),
        )

    def take(self, record: r.Record) -> None:
        """Apply one record."""
        if record.pod and record.node:
            self.nodes[record.pod] = record.node
        handle = _TAKE.get(type(record))
        if handle is not None:
            handle(self, record)

    def worker(self, record: r.Record) -> WorkerPicture:
        return self.workers.get(record.uid) or WorkerPicture(record.pod)


def _select(picture: Picture, record: r.LoopSelect) -> None:
    picture.loop = LoopPicture(record.channel, record.ready, "", record.t, record.node)


def _handler(picture: Picture, record: r.Handler) -> None:
    picture.loop = replace(picture.loop, handler=record.name)


def _worker_update(picture: Picture, record: r.WorkerUpdate) -> None:
    if not record.why.startswith("ignored"):
        picture.workers[record.uid] = replace(picture.worker(record), pending=record.update)


def _worker_state(picture: Picture, record: r.WorkerState) -> None:
    if record.state == "finished":
        picture.workers.pop(record.uid, None)
    else:
        picture.workers[record.uid] = replace(picture.worker(record), state=record.state)


def _sync_begin(picture: Picture, record: r.SyncBegin) -> None:
    worker = picture.worker(record)
    picture.workers[record.uid] = replace(worker, pending="", sync=record.sync, since=record.t, error="", due=None)


def _sync_end(picture: Picture, record: r.SyncEnd) -> None:
    due = None if record.requeue is None else record.t + record.requeue
    worker = picture.worker(record)
    picture.workers[record.uid] = replace(worker, sync="", since=record.t, error=record.error, due=due)


def _cri_call(picture: Picture, record: r.CriCall) -> None:
    call = CallPicture(record.seq, record.call, record.pod, record.container, record.t, record.args)
    picture.calls[record.seq] = call
    if record.call == "StopContainer":
        _change_container(picture, record.args.get("id"), "stopping", record.t)
    elif record.call == "RunPodSandbox":
        picture.plugins.pop(record.pod, None)


def _cni_exec(picture: Picture, record: r.CniExec) -> None:
    picture.plugins[record.pod] = (*picture.plugins.get(record.pod, ()), record)


def _cri_return(picture: Picture, record: r.CriReturn) -> None:
    call = picture.calls.pop(record.cause or 0, None)
    if call is None or record.error:
        return
    identifier = call.args.get("id")
    if record.call == "RunPodSandbox":
        id = str(record.result)
        picture.sandboxes[id] = Sandbox(id, record.pod, call.args.get("attempt", 0))
    elif record.call == "StopPodSandbox" and identifier in picture.sandboxes:
        picture.sandboxes[identifier] = replace(picture.sandboxes[identifier], state="not ready")
    elif record.call == "RemovePodSandbox":
        picture.sandboxes.pop(str(identifier), None)
    elif record.call == "CreateContainer":
        id, attempt = str(record.result), call.args.get("attempt", 0)
        picture.containers[id] = ContainerPicture(id, record.pod, record.container, attempt, since=record.t)
    elif record.call == "StartContainer":
        _change_container(picture, identifier, "running", record.t)
    elif record.call == "RemoveContainer":
        picture.containers.pop(str(identifier), None)


def _change_container(picture: Picture, identifier: Any, state: str, t: int, exit: str = "") -> None:
    container = picture.containers.get(identifier)
    if container is not None and container.state != "exited":
        picture.containers[identifier] = replace(container, state=state, since=t, exit=exit)


def _note(picture: Picture, record: r.Note) -> None:
    ended = _ENDED.match(record.text)
    if ended is not None:
        for identifier, container in list(picture.containers.items()):
            if (container.pod, container.name) == (record.pod, record.container):
                _change_container(picture, identifier, "exited", record.t, f"{ended[1]} ({ended[2]})")
    elif record.node and not record.pod:
        picture.notes[record.node] = record.text
        if record.ends_kubelet:
            picture.workers.clear()
            picture.calls.clear()
            picture.probes.clear()
            picture.loop = LoopPicture()


def _probe(picture: Picture, record: r.ProbeOutcome) -> None:
    picture.probes[record.pod, record.container, record.probe] = record.result


def _api_write(picture: Picture, record: r.ApiWrite) -> None:
    if record.is_pod_status:
        picture.statuses[record.pod] = record.summary
        ip = record.summary.get("podIP", "")
        for id, sandbox in picture.sandboxes.items():
            if sandbox.pod == record.pod and sandbox.state == "ready" and ip:
                picture.sandboxes[id] = replace(sandbox, ip=ip)
    elif record.resource == "nodes/status":
        picture.node[record.node] = record.summary
    elif record.verb == "delete" and record.by == "kubelet":
        picture.statuses.pop(record.pod, None)


_TAKE: dict[type[r.Record], Callable[[Picture, Any], None]] = {
    r.LoopSelect: _select,
    r.Handler: _handler,
    r.WorkerUpdate: _worker_update,
    r.WorkerState: _worker_state,
    r.SyncBegin: _sync_begin,
    r.SyncEnd: _sync_end,
    r.CriCall: _cri_call,
    r.CriReturn: _cri_return,
    r.CniExec: _cni_exec,
    r.Note: _note,
    r.ProbeOutcome: _probe,
    r.ApiWrite: _api_write,
}

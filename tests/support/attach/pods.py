"""Pods in all commonly explained states, as an API server returns them."""

from __future__ import annotations

from typing import Any

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.timestamps import format_time, parse_time
from kubesim.attach.explain.explain import explain
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.statement import Cause, Statement

NOW = parse_time("2026-11-16T12:00:00Z")
Json = dict[str, Any]


def ago(seconds: float) -> str:
    return format_time(NOW - round(seconds * 1_000_000))


def waiting(reason: str, message: str = "", last: Json | None = None, restarts: int = 0, name: str = "main") -> Json:
    reported: Json = {
        "name": name,
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "image": "",
        "imageID": "",
    }
    reported["state"] = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return reported | ({"lastState": {"terminated": last}} if last else {"lastState": {}})


def running(since: float = 60, ready: bool = True, started: bool = True, restarts: int = 0, name: str = "main") -> Json:
    return {
        "name": name,
        "state": {"running": {"startedAt": ago(since)}},
        "lastState": {},
        "ready": ready,
        "started": started,
        "restartCount": restarts,
        "image": "docker.io/library/nginx:1.27",
        "imageID": "sha256:1",
        "containerID": f"containerd://{name}-{restarts}",
    }


def end(code: int, reason: str = "", finished: float = 5, started: float = 8) -> Json:
    word = reason or ("Completed" if code == 0 else "Error")
    return {
        "exitCode": code,
        "reason": word,
        "startedAt": ago(started),
        "finishedAt": ago(finished),
        "containerID": "containerd://x",
    }


def terminated(code: int, reason: str = "", restarts: int = 0, name: str = "main", finished: float = 5) -> Json:
    state = {"terminated": end(code, reason, finished)}
    return {
        "name": name,
        "state": state,
        "lastState": {},
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "image": "",
        "imageID": "",
        "containerID": "containerd://x",
    }


def conditions(
    sandbox: bool = True, initialized: bool = True, ready: bool = False, containers: bool | None = None
) -> list[Json]:
    values = {
        "PodReadyToStartContainers": sandbox,
        "Initialized": initialized,
        "Ready": ready,
        "ContainersReady": ready if containers is None else containers,
        "PodScheduled": True,
    }
    unready = {"reason": "ContainersNotReady", "message": "containers with unready status: [main]"}
    return [
        {
            "type": kind,
            "status": "True" if value else "False",
            "lastTransitionTime": ago(60),
            **(unready if kind in ("Ready", "ContainersReady") and not value else {}),
        }
        for kind, value in values.items()
    ]


def pod(
    *statuses: Json,
    spec: Json | None = None,
    metadata: Json | None = None,
    status: Json | None = None,
    init: list[Json] | None = None,
    **given: Any,
) -> Pod:
    """A pod with one container `main` on node n1, admitted by its kubelet."""
    whole_spec: Json = {
        "nodeName": "n1",
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
        "containers": [{"name": "main", "image": "nginx:1.27", "imagePullPolicy": "IfNotPresent"}],
        **(spec or {}),
    }
    ready = bool(statuses) and all(one["ready"] for one in statuses)
    whole_status: Json = {
        "phase": "Running" if any("running" in one["state"] for one in statuses) else "Pending",
        "startTime": ago(120),
        "conditions": conditions(ready=ready, **given),
        "containerStatuses": list(statuses),
        "initContainerStatuses": init or [],
        **(status or {}),
    }
    whole_metadata: Json = {"name": "web", "namespace": "shop", "uid": "u1", "generation": 1, **(metadata or {})}
    return Pod.from_json({"kind": "Pod", "metadata": whole_metadata, "spec": whole_spec, "status": whole_status})


def event(reason: str, message: str, seconds_ago: float = 5, count: int = 1, container: str = "") -> Event:
    about = {"kind": "Pod", "namespace": "shop", "name": "web", "uid": "u1"}
    if container:
        about["fieldPath"] = f"spec.containers{{{container}}}"
    return Event.from_json(
        {
            "kind": "Event",
            "reason": reason,
            "message": message,
            "count": count,
            "lastTimestamp": ago(seconds_ago),
            "involvedObject": about,
        }
    )


def node(status: str, message: str = "") -> Node:
    condition = {"type": "Ready", "status": status, "reason": "NodeStatusUnknown", "message": message}
    return Node.from_json({"kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [condition]}})


def reported(subject: Pod, *events: Event, **more: Any) -> Statement:
    return explain(Observation(subject, NOW, events, **more))


def cause(subject: Pod, *events: Event, **more: Any) -> Cause:
    """The first cause in the statement."""
    return reported(subject, *events, **more).causes[0]

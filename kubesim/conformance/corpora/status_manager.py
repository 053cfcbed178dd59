"""Corpus `status_manager`: the status manager with a real pod manager and an API server of one pod."""

from __future__ import annotations

import json
import re
from collections.abc import Coroutine
from typing import Any, cast

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import parse_time
from kubesim.clock import LoopClock
from kubesim.cluster.api_client import ApiClient
from kubesim.conformance.decode import Json, steps_of
from kubesim.errors import ApiError
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.status.manager import StatusManager
from kubesim.trace import Recorder

_SHORTENED = re.compile(r"<(\d+) x>")
_MANY = re.compile(r"x{10,}")


def play(case: Json) -> Json:
    case = json.loads(_SHORTENED.sub(lambda found: "x" * int(found[1]), json.dumps(case)))
    bench = _Bench(case["input"])
    steps = [bench.step(step) for step in steps_of(case)]
    shortened = _MANY.sub(lambda found: f"<{len(found[0])} x>", json.dumps({"steps": steps}))
    return cast(Json, json.loads(shortened))


class _Bench:
    """The manager under test with its clock, API server and pod workers interface."""

    def __init__(self, given: Json) -> None:
        pod = Pod.from_json(given["pod"])
        self.uid = pod.metadata.uid
        self.api_pod: Pod | None = Pod.from_json(given["apiPod"])
        self.could_run = False
        self.at = 0
        self.calls: list[str] = []
        self.pods = PodManager()
        self.pods.update(pod)
        self.mirror_known = given["mirrorKnown"]
        if self.mirror_known:
            self.pods.update(self.api_pod)
        clock = cast(LoopClock, self)
        self.manager = StatusManager(
            cast(ApiClient, self), self.pods, lambda pod: self.could_run, clock, Recorder(clock)
        )

    def now(self) -> int:
        return self.at

    wall = now

    @property
    def pod(self) -> Pod:
        pod = self.pods.by_uid(self.uid)
        assert pod is not None
        return pod

    def step(self, step: Json) -> Json:
        self.at = parse_time(step["at"])
        self.calls.clear()
        op = step["op"]
        done = getattr(self, "_" + re.sub("([A-Z]+)", r"_\1", op["op"]).lower())(op)
        cached = self.manager.versioned_status(self.uid)
        out: Json = {"at": step["at"], "op": op | (done or {}), "apiVersions": self.manager.api_status_versions}
        if cached is not None:
            out |= {
                "cached": cached.status.to_json(),
                "version": cached.version,
                "podIsFinished": cached.pod_is_finished,
                "needsReconcile": self.manager.needs_reconcile(self.uid),
            }
        if op["op"] == "syncBatch":
            out["apiCalls"] = list(self.calls)
            out |= {"apiPodGone": True} if self.api_pod is None else {"apiStatus": self.api_pod.status.to_json()}
        return cast(Json, json.loads(json.dumps(out)))

    def _set_pod_status(self, op: Json) -> Json:
        return {"changed": self.manager.set_pod_status(self.pod, PodStatus.from_json(op["status"]))}

    def _set_container_readiness(self, op: Json) -> None:
        self.manager.set_container_readiness(self.uid, op["containerID"], op["value"])

    def _set_container_startup(self, op: Json) -> None:
        self.manager.set_container_startup(self.uid, op["containerID"], op["value"])

    def _terminate_pod(self, op: Json) -> None:
        self.manager.terminate_pod(self.pod)

    def _set_could_have_running(self, op: Json) -> None:
        self.could_run = op["couldHaveRunningContainers"]

    def _mark_deleted(self, op: Json) -> None:
        self._observe(_deleted(self.pod, op["deletionTimestamp"]))
        if self.api_pod is not None:
            self.api_pod = _deleted(self.api_pod, op["deletionTimestamp"])

    def _observe_api(self, op: Json) -> None:
        if self.api_pod is not None:
            if self.mirror_known:
                self._observe(self.api_pod)
            else:
                self._observe(self.pod.changed(status=self.api_pod.status))

    def _foreign_status_change(self, op: Json) -> None:
        if self.api_pod is not None:
            self.api_pod = self.api_pod.changed(status=self.api_pod.status.changed(phase="Pending"))

    def _sync_batch(self, op: Json) -> Json:
        return {"synced": _finish(self.manager.sync_batch(op["all"]))}

    def _observe(self, pod: Pod) -> None:
        self.pods.update(pod)
        self.manager.pod_changed(pod.metadata.uid)

    async def get_pod(self, namespace: str, name: str) -> Pod:
        self.calls.append("get")
        if self.api_pod is None:
            raise ApiError(404, "NotFound", f'pods "{name}" not found')
        return self.api_pod

    async def patch_pod_status(
        self, namespace: str, name: str, uid: str, old_status: PodStatus, new_status: PodStatus
    ) -> Pod:
        self.calls.append("patch/status")
        assert self.api_pod is not None
        self.api_pod = self.api_pod.changed(status=new_status)
        return self.api_pod

    async def delete_pod(self, namespace: str, name: str, uid: str = "", *, grace_period_seconds: int = 0) -> None:
        self.calls.append("delete")
        self.api_pod = None


def _deleted(pod: Pod, moment: str) -> Pod:
    return pod.changed(metadata=pod.metadata.changed(deletion_timestamp=moment))


def _finish(coroutine: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(int, end.value)
    raise AssertionError("the status manager waits, although this API server answers immediately")

"""pleg.jsonl: the generic PLEG against a scripted runtime."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.clock import LoopClock, run_virtual
from kubesim.conformance.decode import steps_of, uids_in
from kubesim.conformance.frame import Case
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.pleg.generic import GenericPleg
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import ContainerRecord, ListedContainer, RuntimePod, RuntimePodStatus, SandboxRecord
from kubesim.trace import Recorder

Json = dict[str, Any]


def play(case: Case) -> Json:
    return run_virtual(_play, case)


async def _play(case: Case) -> Json:
    clock = LoopClock(parse_time(case["now"]))
    runtime, cache = _ScriptedRuntime(), PodCache()
    threshold = case["input"]["relistThresholdSeconds"] * SECOND
    pleg = GenericPleg(clock, runtime, cache, Recorder(clock), threshold=threshold)
    steps = []
    given = steps_of(case)
    asked = uids_in(given)
    for step in given:
        await clock.sleep_until(parse_time(step["at"]))
        op = runtime.op = step["op"]
        if op.get("reinspectFirst"):
            pleg.request_reinspect(op["reinspectFirst"])
        if op["op"] == "relist":
            await pleg.relist()
        else:
            await pleg.relist_pod(op["uid"])
        steps.append({"at": step["at"], "op": op, **_observe(pleg, cache, clock.now(), step.get("cache", asked))})
    return {"steps": steps}


def _observe(pleg: GenericPleg, cache: PodCache, now: int, uids: Iterable[str]) -> Json:
    events = []
    while (event := pleg.events.try_receive()) is not None:
        out = {"uid": event.uid, "type": event.type}
        events.append(out | {"container": event.data} if event.data else out)
    events.sort(key=lambda out: out["uid"])
    healthy, problem = pleg.healthy(now)
    seen = {"events": events, "cache": {uid: _cached(cache, uid) for uid in uids}, "healthy": healthy}
    return seen | {"healthError": problem} if problem else seen


def _cached(cache: PodCache, uid: str) -> Json:
    try:
        status = cache.get(uid)
    except RuntimeCallError as error:
        return {"error": str(error)}
    out: Json = {"containers": len(status.containers)}
    return out | {"ips": list(status.ips)} if status.ips else out


class _ScriptedRuntime:
    """Lists the pods of the current step."""

    def __init__(self) -> None:
        self.op: Json = {}

    async def get_pods(self) -> dict[str, RuntimePod]:
        if self.op.get("listError"):
            raise RuntimeCallError("list failed")
        return {uid: _listing(uid, pod) for uid, pod in self.op["runtimePods"].items()}

    async def get_pod(self, uid: str) -> RuntimePod | None:
        """The pod's status. `listError` applies only to the list of all pods."""
        script = self.op["runtimePods"].get(uid)
        return None if script is None else _listing(uid, script)

    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus:
        script = self.op["runtimePods"][pod.uid]
        if script.get("inspectError"):
            raise RuntimeCallError("inspect failed")
        return RuntimePodStatus(
            pod.uid,
            ips=tuple(script.get("ips", ())),
            sandboxes=tuple(SandboxRecord(s["id"], ready=s["state"] == "running") for s in script["sandboxes"]),
            containers=tuple(ContainerRecord(c["id"], c["name"], c["state"]) for c in script["containers"]),
        )


def _listing(uid: str, pod: Json) -> RuntimePod:
    return RuntimePod(
        uid,
        containers=tuple(ListedContainer(c["id"], c["name"], c["state"]) for c in pod["containers"]),
        sandboxes=tuple(ListedContainer(s["id"], "", s["state"]) for s in pod["sandboxes"]),
    )

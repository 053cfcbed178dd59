"""A bug injected into kubesim violates each invariant: exactly that one is reported, and the run fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.app import run_scenario
from kubesim.cluster.store.store import Store
from kubesim.kubelet.eviction.manager import EvictionManager
from kubesim.kubelet.loop.sync_pod import PodSync
from kubesim.kubelet.probes import manager as probe_manager
from kubesim.kubelet.probes import worker as probe_worker
from kubesim.kubelet.probes.worker_rules import before_probe
from kubesim.kubelet.status.generate import api_pod_status
from kubesim.runtime.kuberuntime.act.container_kill import ContainerKiller, TerminationOrdering
from kubesim.runtime.kuberuntime.act.container_start import ContainerStarter
from kubesim.runtime.kuberuntime.decide import actions
from kubesim.runtime.kuberuntime.decide.action_types import PodActions
from kubesim.runtime.kuberuntime.decide.backoff import Backoff
from kubesim.runtime.simulated.addresses import Addresses
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.language.document import NAMES, STRICT
from kubesim.scenario.load.loader import parse_scenario
from kubesim.values import replace

Plant = Callable[[pytest.MonkeyPatch], None]

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: planted}
spec:
  duration: 2m
  images: [{name: "busybox:*", present: true}]
  invariants: {added: []}
  steps: [%s]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {terminationGracePeriodSeconds: 10, restartPolicy: %s, initContainers: [%s], containers: [%s]}
"""
PROMPT = "trap 'exit 0' TERM; sleep 100000 & wait"
DEAF = "trap '' TERM; sleep 100000"


def container(name: str, program: str, more: str = "") -> str:
    return f'{{name: {name}, image: "busybox:1", command: [sh, -c, "{program}"]{more}}}'


def story(*containers: str, init: str = "", step: str = "", restart: str = "Always") -> str:
    return SCENARIO % (step, restart, init, ", ".join(containers))


MAIN = story(container("main", PROMPT))
DELETED = story(container("main", DEAF), step="{at: 20s, delete: {pod: web}}")
FORCED = story(container("main", DEAF), step="{at: 20s, delete: {pod: web, gracePeriodSeconds: 0}}")
IMAGE = "{at: 20s, patch: {pod: web, patch: {spec: {containers: [{name: main, image: 'busybox:2'}]}}}}"
INIT = story(container("main", PROMPT), init=container("first", "sleep 5"))
SIDECAR = story(
    container("main", "trap 'sleep 4; exit 0' TERM; sleep 100000 & wait"),
    init=container("proxy", PROMPT, ", restartPolicy: Always"),
    step="{at: 20s, delete: {pod: web}}",
)
CRASHES = story(container("main", "sleep 5; exit 1"))
PROBED = story(container("main", PROMPT, ", readinessProbe: {exec: {command: ['true']}, initialDelaySeconds: 10}"))
HOOKED = story(container("main", PROMPT, ", lifecycle: {postStart: {exec: {command: ['true']}}}"))
PRESSURE = story(
    container("main", DEAF),
    step="{at: 30s, pressure: {memory.available: 60Mi}}, {at: 40s, pressure: {memory.available: 4Gi}}",
).replace("spec:", "spec:\n  behaviours: [{pod: web, memory: 3Gi}]", 1)
MISSING_IMAGE = story('{name: main, image: "shop:1", imagePullPolicy: Always}').replace(
    "images: [", 'images: [{name: "shop:*", missing: true}, ', 1
)
LIMITED = story(container("main", PROMPT, ", resources: {requests: {cpu: 200m}}"))
READY = "{exec: {command: ['true']}, periodSeconds: 2}"
READY_UNTIL_THE_END = story(
    container("main", DEAF, f", readinessProbe: {READY}"), step="{at: 20s, delete: {pod: web}}"
).replace("spec:", "spec:\n  profile: v1.37", 1)  # its exec probes continue in a terminating pod
RUNS_ONCE = story(container("main", "sleep 5"), restart="Never")


def gives(target: Any, name: str, answer: Any) -> Plant:
    """A function that always returns this value."""
    return lambda patch: patch.setattr(target, name, lambda *_, **__: answer)


def kills_nothing(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any, **__: Any) -> None: ...

    patch.setattr(PodSync, "sync_terminating_pod", nothing)
    patch.setattr(PodSync, "sync_terminating_runtime_pod", nothing)


def does_not_wait(patch: pytest.MonkeyPatch) -> None:
    async def at_once(*_: Any) -> int:
        return 0

    patch.setattr(TerminationOrdering, "wait_for_turn", at_once)


def has_no_address(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimulatedRuntime, "_address", lambda *_: "")


def counts_restarts_down(patch: pytest.MonkeyPatch) -> None:
    write = Store.write_pod_status

    def one_less(self: Store, pod: Any, uid: str, status: PodStatus) -> Any:
        counted = tuple(each.changed(restart_count=-each.restart_count) for each in status.container_statuses)
        return write(self, pod, uid, status.changed(container_statuses=counted))

    patch.setattr(Store, "write_pod_status", one_less)


def forgets_the_end(patch: pytest.MonkeyPatch) -> None:
    """Reports Running after a terminal phase."""
    write = Store.write_pod_status

    def again(self: Store, pod: Any, uid: str, status: PodStatus) -> Any:
        written = write(self, pod, uid, status)
        if status.phase == "Succeeded":
            return write(self, written, uid, status.changed(phase="Running"))
        return written

    patch.setattr(Store, "write_pod_status", again)


def stops_too_soon(patch: pytest.MonkeyPatch) -> None:
    """The runtime sends KILL after half of the time."""
    end = SimulatedRuntime._end

    async def early(self: SimulatedRuntime, stopped: Any, timeout: int) -> None:
        await end(self, stopped, timeout // 2)

    patch.setattr(SimulatedRuntime, "_end", early)


def ignores_the_deletion(patch: pytest.MonkeyPatch) -> None:
    kill = ContainerKiller.kill

    async def shortly(self: ContainerKiller, *args: Any, **options: Any) -> None:
        await kill(self, *args, **{**options, "grace_override_s": 3})

    patch.setattr(ContainerKiller, "kill", shortly)


def skips_stop_container(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any, **__: Any) -> None: ...

    patch.setattr(ContainerKiller, "kill", nothing)


def probes_at_once(patch: pytest.MonkeyPatch) -> None:
    def soon(subject: Any, state: Any, status: Any, *rest: Any) -> Any:
        turn = before_probe(subject, state, status, *rest)
        return replace(turn, next="probe") if status is not None else turn

    patch.setattr(probe_worker, "before_probe", soon)


def keeps_addresses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Addresses, "release", lambda *_: None)


def stands_still(patch: pytest.MonkeyPatch) -> None:
    """Every tenth resource version is used twice."""
    commit = Store._commit

    def same(self: Store, *args: Any, **options: Any) -> ApiObject:
        if self.resource_version % 10 == 9:
            self.resource_version -= 1
        return commit(self, *args, **options)

    patch.setattr(Store, "_commit", same)


def writes_over(patch: pytest.MonkeyPatch) -> None:
    """The status is written to the pod as it was created."""
    write, first = Store.write_pod_status, dict[str, Any]()

    def stale(self: Store, pod: Any, uid: str, status: PodStatus) -> Any:
        return write(self, first.setdefault(pod.metadata.uid, pod), uid, status)

    patch.setattr(Store, "write_pod_status", stale)


def reports_more(patch: pytest.MonkeyPatch) -> None:
    """Reports half of the resources as allocated."""
    write = Store.write_pod_status

    def less(self: Store, pod: Any, uid: str, status: PodStatus) -> Any:
        halved = tuple(each.changed(allocated_resources={"cpu": "100m"}) for each in status.container_statuses)
        return write(self, pod, uid, status.changed(container_statuses=halved))

    patch.setattr(Store, "write_pod_status", less)


def skips_hooks(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> None: ...

    patch.setattr(ContainerStarter, "_post_start", nothing)


def forgets_results(patch: pytest.MonkeyPatch) -> None:
    """The second status of a ready container says that it is not ready."""
    write, reported = Store.write_pod_status, set[str]()

    def flaps(self: Store, pod: Any, uid: str, status: PodStatus) -> Any:
        written = write(self, pod, uid, status)
        if uid not in reported and any(each.ready for each in status.container_statuses):
            reported.add(uid)
            unready = tuple(each.changed(ready=False) for each in status.container_statuses)
            conditions = tuple(each for each in status.conditions if each.type != "Ready")
            return write(self, written, uid, status.changed(container_statuses=unready, conditions=conditions))
        return written

    patch.setattr(Store, "write_pod_status", flaps)


def stops_readiness_probes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(probe_manager, "STOPPED_BY_TERMINATION", probe_manager.REMOVE_ORDER)


def emits_all_the_time(patch: pytest.MonkeyPatch) -> None:
    async def often(self: EvictionManager) -> None:
        while True:
            self._events.node_event("Warning", "EvictionThresholdMet", "Attempting to reclaim memory")
            await self._clock.sleep(10 * SECOND)

    patch.setattr(EvictionManager, "run", often)


PLANTED: list[tuple[str, Plant, str, str]] = [
    ("one-instance", gives(PodActions, "kill", None), story(container("main", PROMPT), step=IMAGE), "still running"),
    ("gone-pods", kills_nothing, FORCED, "still running"),
    ("init-order", gives(actions, "compute_init_container_actions", True), INIT, "main started before init container"),
    ("sidecars", does_not_wait, SIDECAR, "proxy was stopped while container main"),
    ("networks", has_no_address, MAIN, "without a network"),
    ("restart-counts", counts_restarts_down, CRASHES, "fell from"),
    ("terminal-phase", forgets_the_end, RUNS_ONCE, "from Succeeded to Running"),
    ("grace-periods", stops_too_soon, DELETED, "before its grace period was over"),
    ("grace-periods", ignores_the_deletion, DELETED, "gets only"),
    ("grace-periods", skips_stop_container, DELETED, "without a grace period"),
    ("probes", probes_at_once, PROBED, "readiness probe of container main ran"),
    ("statuses", gives(api_pod_status, "get_phase", "Succeeded"), MAIN, "Succeeded, but container main"),
    ("addresses", keeps_addresses, DELETED, "was not released"),
    ("resource-versions", stands_still, MAIN, "after version"),
    ("lost-updates", writes_over, MAIN, "undoes version"),
    ("post-start", skips_hooks, HOOKED, "the postStart hook of container main has not completed"),
    ("pull-back-off", gives(Backoff, "is_in_back_off_since_update", False), MISSING_IMAGE, "was pulled 6 times"),
    ("readiness", forgets_results, MAIN, "main is not ready any more"),
    ("probe-periods", stops_readiness_probes, READY_UNTIL_THE_END, "did not run in the last"),
    ("evictions", gives(EvictionManager, "_grace", 20), PRESSURE, "got 20s to stop, but its eviction allows 1s"),
    ("allocations", reports_more, LIMITED, "main has 200m of cpu, but only 100m are allocated to it"),
    ("event-rate", emits_all_the_time, MAIN, "EvictionThresholdMet was emitted 12 times"),
]


def play(text: str) -> RunResult:
    return run_scenario(parse_scenario(text, "planted.yaml"))


@pytest.mark.violates_invariants
@pytest.mark.parametrize(("name", "plant", "text", "why"), PLANTED, ids=[f"{n}-{p.__name__}" for n, p, _, _ in PLANTED])
def test_an_injected_bug_is_found(
    name: str, plant: Plant, text: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in STRICT:
        text = text.replace("added: []", f"added: [{name}]")
    assert play(text).ok
    plant(monkeypatch)
    result = play(text)
    found = [failure for failure in result.failures if failure.kind == "invariant"]
    assert {failure.text.partition(":")[0] for failure in found} == {name}
    assert any(why in failure.why for failure in found), [failure.why for failure in found]
    assert not result.ok


def test_every_invariant_has_an_injected_bug() -> None:
    assert {name for name, *_ in PLANTED} == set(NAMES)

"""Preemption by the kubelet: the pods that are stopped to admit a critical pod.

The cases are those of upstream's pkg/kubelet/preemption/preemption_test.go (TestGetPodsToPreempt,
TestHandleAdmissionFailure, TestAdmissionRequirementsSubtract, TestSmallerResourceRequest), in our words.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.pod_kinds import SYSTEM_CRITICAL_PRIORITY
from kubesim.cluster.scheduling.fit import NODE_AFFINITY, InsufficientResource
from kubesim.errors import SyncError
from kubesim.kubelet.admission.predicates import AdmissionResult, Failure
from kubesim.kubelet.admission.preemption import (
    AdmissionRequirement,
    CriticalPodAdmission,
    NothingToPreempt,
    Requirements,
    pods_to_preempt,
    smaller_request,
    subtract,
)
from kubesim.podworkers.updates import PodStatusFn
from tests.support.fakes.events import RecordedEvents
from tests.support.played import Played, pod

MI = 1 << 20


def make(name: str, amount: int = 0, *, limited: bool = False, priority: int | None = None) -> Pod:
    """`amount` is in millicores of CPU and Mi of memory."""
    resources: dict[str, Any] = {"requests": {"cpu": f"{amount}m", "memory": f"{amount}Mi"}} if amount else {}
    if limited:
        resources["limits"] = resources["requests"]
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": resources}]}
    if priority is not None:
        spec["priority"] = priority
    return Pod.from_json({"metadata": {"name": name, "uid": name, "generation": 3}, "spec": spec})


BEST_EFFORT = make("best-effort")
BURSTABLE, LARGE_BURSTABLE = make("burstable", 100), make("large-burstable", 300)
GUARANTEED, LARGE_GUARANTEED = make("guaranteed", 100, limited=True), make("large-guaranteed", 300, limited=True)
CLUSTER_CRITICAL = make("cluster-critical", 100, priority=SYSTEM_CRITICAL_PRIORITY)
NODE_CRITICAL = make("node-critical", 100, priority=SYSTEM_CRITICAL_PRIORITY + 100)
ALL = (BEST_EFFORT, BURSTABLE, LARGE_BURSTABLE, GUARANTEED, LARGE_GUARANTEED)


def need(cpu: int = 0, memory: int = 0, pods: int = 0) -> Requirements:
    wanted = (("cpu", cpu), ("memory", memory * MI), ("pods", pods))
    return tuple(AdmissionRequirement(resource, amount) for resource, amount in wanted if amount)


@pytest.mark.parametrize(
    ("pods", "needed", "gone"),
    [
        ((), need(), ()),
        ((BURSTABLE,), need(100, 100, 1), (BURSTABLE,)),
        # A pod of the lower class is preempted if that suffices ...
        ((BURSTABLE, BEST_EFFORT), need(pods=1), (BEST_EFFORT,)),
        ((BURSTABLE, GUARANTEED), need(pods=1), (BURSTABLE,)),
        # ... in it the smallest pod that suffices ...
        ((BEST_EFFORT, LARGE_BURSTABLE, BURSTABLE), need(100, 100), (BURSTABLE,)),
        ((BEST_EFFORT, BURSTABLE, LARGE_BURSTABLE), need(150, 150), (LARGE_BURSTABLE,)),
        # ... and as few as possible.
        (ALL, need(350, 350), (LARGE_BURSTABLE, BURSTABLE)),
        (ALL, need(memory=550), (LARGE_BURSTABLE, LARGE_GUARANTEED)),
    ],
)
def test_as_few_and_as_unimportant_pods_as_possible_are_preempted(
    pods: tuple[Pod, ...], needed: Requirements, gone: tuple[Pod, ...]
) -> None:
    assert pods_to_preempt(CLUSTER_CRITICAL, pods, needed) == list(gone)


@pytest.mark.parametrize(
    ("pods", "needed"),
    [
        ((), need(pods=1)),
        ((BURSTABLE,), need(200, 200, 2)),
        ((BEST_EFFORT,), need(cpu=1)),  # it has no resources to free
        ((NODE_CRITICAL,), need(cpu=100)),  # and this pod is more important
    ],
)
def test_if_all_pods_together_do_not_suffice_none_is_preempted(pods: tuple[Pod, ...], needed: Requirements) -> None:
    with pytest.raises(NothingToPreempt):
        pods_to_preempt(CLUSTER_CRITICAL, pods, needed)


def test_a_critical_pod_is_preempted_for_a_more_important_one() -> None:
    assert pods_to_preempt(NODE_CRITICAL, (CLUSTER_CRITICAL,), need(cpu=100)) == [CLUSTER_CRITICAL]


def test_remaining_requirements_without_a_pod() -> None:
    assert subtract(need(100, 100, 1), (BEST_EFFORT,)) == need(100, 100)
    assert subtract(need(50, 50), (BURSTABLE,)) == ()
    assert subtract(need(200, 200, 1), (BURSTABLE,)) == need(100, 100)


def test_memory_counts_before_cpu() -> None:
    small, more_cpu = make("a", 50), make("b", 50)
    assert smaller_request(small, more_cpu)
    assert smaller_request(BURSTABLE, LARGE_BURSTABLE)
    assert not smaller_request(LARGE_BURSTABLE, BURSTABLE)
    assert not smaller_request(BURSTABLE, BEST_EFFORT)


# -- after a refusal ------------------------------------------------------------------------------------------------


class Kills(RecordedEvents):
    """Kills immediately, or cannot."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.killed: dict[str, PodStatus] = {}
        self._fails = fails

    async def __call__(
        self,
        pod: Pod,
        *,
        evict: bool = False,
        grace_period_override: int | None = None,
        status_fn: PodStatusFn | None = None,
    ) -> None:
        assert evict
        assert grace_period_override is None
        assert status_fn is not None
        if self._fails:
            raise SyncError("timeout waiting to kill pod")
        self.killed[pod.metadata.name] = status_fn(pod.status)


def handle(kills: Kills, admitted: Pod, pods: tuple[Pod, ...], *failures: Failure) -> AdmissionResult:
    refusal = AdmissionResult(False, failures[0].reason, failures[0].message, failures)
    handler = CriticalPodAdmission(lambda: pods, kills, kills)
    return asyncio.run(handler.handle_admission_failure(admitted, refusal))


def lacking(resource: str, amount: int) -> Failure:
    return InsufficientResource(resource, amount, 0, 0)


def test_preempted_pods_are_killed_and_get_the_reason() -> None:
    kills = Kills()
    result = handle(kills, CLUSTER_CRITICAL, (CLUSTER_CRITICAL, *ALL), lacking("memory", 550 * MI))
    assert result.admit
    assert list(kills.killed) == ["large-burstable", "large-guaranteed"]
    assert kills.events[0][:4] == (
        "large-burstable",
        "Warning",
        "Preempting",
        "Preempted in order to admit critical pod",
    )
    status = kills.killed["large-burstable"]
    assert (status.phase, status.reason, status.message) == (
        "Failed",
        "Preempting",
        "Preempted in order to admit critical pod",
    )
    (condition,) = status.conditions
    assert (condition.type, condition.status, condition.reason, condition.observed_generation) == (
        "DisruptionTarget",
        "True",
        "TerminationByKubelet",
        3,
    )
    assert condition.message == "Pod was preempted by Kubelet to accommodate a critical pod."


def test_a_pod_that_does_not_stop_in_time_blocks_nobody() -> None:
    kills = Kills(fails=True)
    assert handle(kills, CLUSTER_CRITICAL, ALL, lacking("memory", 550 * MI)).admit
    assert len(kills.events) == 2


def test_an_ordinary_pod_preempts_nothing() -> None:
    kills = Kills()
    result = handle(kills, GUARANTEED, (BURSTABLE,), lacking("cpu", 1))
    assert (result.admit, result.reason, kills.killed) == (False, "OutOfcpu", {})


def test_a_reason_that_more_resources_cannot_fix_remains() -> None:
    kills = Kills()
    result = handle(kills, CLUSTER_CRITICAL, (BURSTABLE,), lacking("pods", 1), NODE_AFFINITY)
    assert (result.admit, result.reason, kills.killed) == (False, "NodeAffinity", {})


def test_without_a_preemptable_pod_the_message_names_the_resource() -> None:
    result = handle(Kills(), CLUSTER_CRITICAL, (CLUSTER_CRITICAL,), lacking("pods", 1))
    assert result.reason == "UnexpectedAdmissionError"
    assert result.message == (
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods "
        "to preempt: no set of running pods found to reclaim resources: [(res: pods, q: 1), ]"
    )


# -- on a node ------------------------------------------------------------------------------------------------------


def test_a_critical_pod_is_admitted_once_the_others_have_stopped() -> None:
    def asking(name: str, cpu: str, namespace: str = "default") -> dict[str, Any]:
        # It ignores SIGTERM, so that it exits with an error; with exit code 0 it would be reported as succeeded.
        manifest = pod(name, command=["sleep", "100000"])
        manifest["metadata"]["namespace"] = namespace
        manifest["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        manifest["spec"]["nodeName"] = "node-1"
        return manifest

    vital = asking("vital", "1", "kube-system")
    vital["spec"]["priorityClassName"] = "system-node-critical"
    story = Played(
        {"at": "10s", "apply": vital},
        objects=[asking("large", "1500m"), asking("small", "400m")],
        nodes=[{"name": "node-1", "capacity": {"cpu": "2"}}],
        expect=[
            {"pod": "large", "event": "Preempting", "by": "11s"},
            {"pod": "large", "phase": "Failed", "by": "20s"},
            {"pod": "large", "condition": "DisruptionTarget", "by": "20s"},
            {"pod": "kube-system/vital", "phase": "Running", "by": "25s"},
            {"pod": "small", "event": "Preempting", "never": True},
        ],
    )
    assert story.result.ok, story.result.expectations_failed

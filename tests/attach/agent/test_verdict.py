"""Comparison of the real pods with those of the agent: same, ahead, behind or different, and which differences are
certain."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.attach.agent.verdict import SAME, compare
from tests.support.attach.pods import conditions, pod, running, terminated, waiting


def made(container: dict[str, Any], phase: str = "Running", *, ready: bool = False, **status: Any) -> Pod:
    reported = {"phase": phase, "qosClass": "BestEffort", "conditions": conditions(ready=ready), **status}
    return pod(container, status=reported)


READY = made(running(), ready=True)
UNREADY = made(running(ready=False))
CRASHED = made(waiting("CrashLoopBackOff", last={"exitCode": 1}))
CREATING = made(waiting("ContainerCreating"), "Pending")
PULLING = made(waiting("ErrImagePull"), "Pending")
BACKING_OFF = made(waiting("ImagePullBackOff"), "Pending")
UNCONFIGURED = made(waiting("CreateContainerConfigError"), "Pending")
FAILED = made(terminated(1), "Failed")
SUCCEEDED = made(terminated(0), "Succeeded")


@pytest.mark.parametrize("same", [READY, UNREADY, CRASHED, CREATING, PULLING, FAILED])
def test_a_pod_equals_itself(same: Pod) -> None:
    assert compare(same, same, {}) == SAME


@pytest.mark.parametrize(
    ("further", "other", "rule"),
    [
        (READY, UNREADY, "ready"),
        (READY, CREATING, "containers"),
        (CRASHED, READY, "containers"),
        (made(running(restarts=1), ready=True), CRASHED, "containers"),
        (UNCONFIGURED, CREATING, "waiting reason"),
        (made(terminated(1), "Failed", reason="DeadlineExceeded"), READY, "phase"),
    ],
)
def test_one_side_is_ahead_and_the_other_behind(further: Pod, other: Pod, rule: str) -> None:
    found = compare(other, further, {})
    assert (found.relation, found.rule, found.certain) == ("ahead", rule, False)
    found = compare(further, other, {})
    assert (found.relation, found.rule, found.certain) == ("behind", rule, False)


def test_a_failed_pull_and_its_back_off_alternate() -> None:
    assert compare(PULLING, BACKING_OFF, {}) == SAME


def test_restarts_before_the_agent_started_do_not_count() -> None:
    assert compare(made(running(restarts=5), ready=True), READY, {"main": 5}) == SAME


def test_a_pod_that_the_agent_has_finished() -> None:
    assert compare(READY, None, {}).relation == "ahead"


def test_different_waiting_reasons_are_not_certain() -> None:
    found = compare(PULLING, UNCONFIGURED, {})
    assert (found.relation, found.rule, found.certain) == ("different", "waiting reason", False)


def test_different_exit_codes_are_not_certain() -> None:
    found = compare(made(terminated(2), "Failed"), FAILED, {})
    assert (found.relation, found.rule, found.certain) == ("different", "exit code", False)
    assert not compare(SUCCEEDED, FAILED, {}).certain


def test_a_finished_pod_without_container_states_is_the_same() -> None:
    assert compare(FAILED, made(waiting("ContainerCreating"), "Failed", reason="OutOfcpu"), {}) == SAME


def test_another_phase_with_the_same_exit_codes_is_certain() -> None:
    found = compare(made(terminated(1), "Succeeded"), FAILED, {})
    assert (found.relation, found.rule, found.certain) == ("different", "phase", True)


def test_an_evicted_pod_has_its_phase_for_a_different_reason() -> None:
    found = compare(made(terminated(0), "Failed", reason="Evicted"), SUCCEEDED, {})
    assert (found.relation, found.certain) == ("different", False)


def test_a_pod_rejected_by_its_node_is_different_and_one_past_its_deadline_is_ahead() -> None:
    evicted = compare(made(terminated(137), "Failed", reason="Evicted"), READY, {})
    assert (evicted.relation, evicted.certain) == ("different", False)
    assert "Evicted" in evicted.detail
    assert compare(READY, made(waiting(""), "Failed", reason="OutOfpods"), {}).relation == "different"
    assert compare(SUCCEEDED, READY, {}).relation == "different"  # finished despite restartPolicy Always
    assert compare(made(terminated(137), "Failed", reason="DeadlineExceeded"), READY, {}).relation == "behind"


def test_a_qos_class_that_does_not_follow_from_the_resources_is_certain() -> None:
    found = compare(made(running(), ready=True, qosClass="Guaranteed"), READY, {})
    assert (found.relation, found.rule, found.certain) == ("different", "qos", True)


def test_containers_that_are_ahead_and_behind_make_a_pod_different() -> None:
    spec = {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]}
    first, second = (
        pod(
            running(name=name),
            spec=spec,
            status={"phase": "Running", "containerStatuses": [running(name=name), waiting("", name=other)]},
        )
        for name, other in (("a", "b"), ("b", "a"))
    )
    found = compare(first, second, {})
    assert (found.relation, found.rule, found.certain) == ("different", "containers", False)

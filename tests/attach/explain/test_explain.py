"""`explain`, case by case: each state of a pod has an explanation with its rule, time and remedy."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.page import as_json, page
from kubesim.attach.explain.statement import Cause, ChangeKind, NextStep, Window
from tests.support.attach.pods import (
    NOW,
    ago,
    cause,
    conditions,
    end,
    event,
    node,
    pod,
    reported,
    running,
    terminated,
    waiting,
)

PULL = 'Failed to pull image "nginx:1.27": rpc error: dial tcp: connection refused'
NO_STATUSES: dict[str, Any] = {"containerStatuses": [], "conditions": []}
DELETED = {"deletionTimestamp": ago(-20), "deletionGracePeriodSeconds": 30, "generation": 2}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "h", "kubernetes.io/config.source": "file"}}


def step(found: Cause, change: ChangeKind) -> NextStep:
    return next(one for one in found.steps if one.change == change)


def in_seconds(window: Window | None) -> tuple[float | None, float | None]:
    assert window is not None
    return tuple(None if moment is None else (moment - NOW) / SECOND for moment in (window.earliest, window.latest))  # type: ignore[return-value]


REASONS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PostStartHookError",
    "PreStartHookError",
    "PreCreateHookError",
    "CrashLoopBackOff",
    "ContainerCreating",
    "PodInitializing",
    "RestartingAllContainers",
    "",
    "SomethingNew",
)


@pytest.mark.parametrize("reason", REASONS)
def test_every_waiting_reason_is_explained(reason: str) -> None:
    last = end(1) if reason == "CrashLoopBackOff" else None
    found = cause(pod(waiting(reason, "the message", last)))
    assert found.code in (reason or "ContainerCreating", "Restarting")
    assert found.container == "main"
    assert found.steps
    assert found.rule
    assert found.ref
    assert any("state.waiting" in fact.field for fact in found.facts)


# -- crashes --------------------------------------------------------------------------------------------------------


def test_a_crash_loop_shows_the_next_restart_and_the_expiry_of_the_back_off() -> None:
    message = "back-off 40s restarting failed container=main pod=web_shop(u1)"
    found = cause(pod(waiting("CrashLoopBackOff", message, end(1, finished=10), restarts=3)))
    assert "exited with 1" in found.says
    assert "40s" in found.says
    # 40 s after an exit 10 s ago. The worker may be late by half of the whole wait, and times are cut to whole seconds.
    assert in_seconds(step(found, "started").window) == (30, 51.5)
    assert "1m20s" in step(found, "exited").what
    assert "its back-off is reset" in step(found, "exited").what


def test_a_pod_in_a_long_back_off_is_synced_every_60_to_90_s() -> None:
    message = "back-off 5m0s restarting failed container=main pod=web_shop(u1)"
    found = cause(pod(waiting("CrashLoopBackOff", message, end(1, finished=0), restarts=9)))
    earliest, latest = in_seconds(step(found, "started").window)
    assert (earliest, latest) == (300, 331)


def test_an_unreported_back_off_is_described_by_its_maximum() -> None:
    found = cause(pod(terminated(1, restarts=2), status={"phase": "Running"}))
    assert "back-off of at most 20s" in found.says
    assert any("the most that this restartCount allows" in text for text in found.unseen)


def test_a_first_crash_is_restarted_immediately() -> None:
    found = cause(pod(terminated(1), status={"phase": "Running"}))
    assert found.code == "Restarting"
    assert in_seconds(step(found, "started").window) == (-5, 0)


def test_the_back_off_expires_after_more_than_ten_minutes() -> None:
    long_run = terminated(1, restarts=5)
    long_run["state"]["terminated"]["startedAt"] = ago(700)
    assert cause(pod(long_run, status={"phase": "Running"})).code == "Restarting"


def test_out_of_memory_shows_the_limit() -> None:
    limited = {"containers": [{"name": "main", "image": "x", "resources": {"limits": {"memory": "64Mi"}}}]}
    found = cause(pod(terminated(137, "OOMKilled"), spec=limited, status={"phase": "Running"}))
    assert "memory" in found.says
    assert any("64Mi" in remedy for remedy in found.remedies)


def test_a_container_that_ran_after_crashes_shows_when_its_back_off_expires() -> None:
    found = reported(pod(running(since=60, restarts=4))).causes[1]
    assert found.code == "Restarted"
    assert any("a crash in the next 540 s waits up to 1m20s" in fact.value for fact in found.facts)


# -- images, configuration, volumes, network -------------------------------------------------------------------------


def test_the_next_pull_is_reported_from_the_events() -> None:
    found = cause(pod(waiting("ImagePullBackOff")), event("Failed", PULL, 4, count=3, container="main"))
    assert in_seconds(step(found, "waits").window) == (36, 51)
    assert any("does not respond" in remedy for remedy in found.remedies)


def test_without_events_the_next_pull_is_not_predicted() -> None:
    found = cause(pod(waiting("ImagePullBackOff")))
    assert step(found, "waits").window is None
    assert found.unseen


def test_a_missing_config_map_of_a_volume() -> None:
    text = 'MountVolume.SetUp failed for volume "v" : configmap "later" not found'
    subject = pod(waiting("ContainerCreating"), sandbox=False)
    found = cause(subject, event("FailedMount", text, 1, count=5))
    assert found.code == "FailedMount"
    assert in_seconds(step(found, "waits").window) == (7, 7.4)
    assert any("create the missing object" in remedy for remedy in found.remedies)


@pytest.mark.parametrize(
    ("reason", "message", "remedy"),
    [
        ("FailedCreatePodSandBox", "plugin type=bridge failed (add): no IP addresses available in range set", "IPAM"),
        ("FailedCreatePodSandBox", "cni plugin not initialized", "no CNI configuration"),
        ("FailedCreatePodSandBox", 'failed to find plugin "calico" in path', "binary is missing"),
        ("NetworkNotReady", "network is not ready: container runtime network not ready", "CNI plugin"),
    ],
)
def test_network_errors_in_events(reason: str, message: str, remedy: str) -> None:
    found = cause(pod(waiting("ContainerCreating"), sandbox=False), event(reason, message))
    assert found.code == reason
    assert any(remedy in one for one in found.remedies), found.remedies
    assert step(found, "waits").window is not None


def test_an_error_that_has_ended_is_not_repeated() -> None:
    failed = event("FailedMount", "no", 50)
    assert cause(pod(running()), failed).code == "Running"


# -- init containers, probes, gates ----------------------------------------------------------------------------------

INIT = {"initContainers": [{"name": "first", "image": "x"}, {"name": "side", "image": "x", "restartPolicy": "Always"}]}


def test_init_containers_run_in_sequence() -> None:
    init = [running(name="first", ready=False), waiting("PodInitializing", name="side")]
    found = cause(pod(waiting("PodInitializing"), spec=INIT, init=init, initialized=False))
    assert found.code == "Initializing"
    assert "1 of 2" in found.says
    assert "sidecar side starts" in step(found, "exited").what


def test_a_sidecar_that_does_not_start_blocks_the_pod() -> None:
    probe = {"startupProbe": {"exec": {"command": ["x"]}, "periodSeconds": 5, "failureThreshold": 3}}
    spec = {"initContainers": [INIT["initContainers"][0], {**INIT["initContainers"][1], **probe}]}
    init = [terminated(0, name="first"), running(name="side", ready=False, started=False)]
    found = cause(pod(waiting("PodInitializing"), spec=spec, init=init, initialized=False))
    assert found.container == "side"
    assert "startup probe" in found.says
    assert "2 of 2" in found.says


def test_an_init_container_that_fails_backs_off() -> None:
    init = [waiting("CrashLoopBackOff", "back-off 10s restarting failed container=first pod=x", end(3), 1, "first")]
    found = cause(pod(waiting("PodInitializing"), spec=INIT, init=init, initialized=False))
    assert found.code == "CrashLoopBackOff"
    assert "initializes (1 of 2)" in found.says


def probed(**probe: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "x", "readinessProbe": {"exec": {"command": ["x"]}, **probe}}]}


def test_a_failing_readiness_probe() -> None:
    subject = pod(running(ready=False), spec=probed(periodSeconds=7, initialDelaySeconds=3))
    found = cause(subject, event("Unhealthy", "Readiness probe failed: 503", container="main", count=9))
    assert found.code == "ReadinessProbeFailing"
    assert "every 7s" in found.rule
    assert any("503" in fact.value for fact in found.facts)


def test_no_probe_runs_before_the_initial_delay() -> None:
    found = cause(pod(running(since=5, ready=False), spec=probed(initialDelaySeconds=30)))
    assert "not probed yet" in found.says
    assert in_seconds(step(found, "container-ready").window) == (25, None)


def test_readiness_gates() -> None:
    subject = pod(
        running(),
        spec={"readinessGates": [{"conditionType": "lb/ready"}]},
        status={"conditions": conditions(ready=False, containers=True)},
    )
    found = cause(subject)
    assert found.code == "ReadinessGatesNotReady"
    assert "lb/ready (absent)" in found.says


# -- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        ({"reason": "Evicted", "message": "The node was low on resource: memory."}, "Evicted", "low on resource"),
        ({"reason": "OutOfcpu", "message": "Pod was rejected: Node has not enough"}, "RejectedOutOfcpu", "enough cpu"),
        ({"reason": "NodeAffinity", "message": "Pod was rejected: no"}, "RejectedNodeAffinity", "affinity"),
        ({"reason": "DeadlineExceeded", "message": "Pod was active"}, "DeadlineExceeded", "longer"),
        ({"reason": "Terminated", "message": "Pod was terminated, node shutdown"}, "NodeShutdown", "shut down"),
        ({"reason": "Preempting", "message": "Preempted"}, "Preempted", "critical"),
    ],
)
def test_ends_with_a_reason(status: dict[str, str], code: str, says: str) -> None:
    statement = reported(pod(status={"phase": "Failed", **NO_STATUSES, **status}))
    assert statement.stage == "failed"
    assert statement.causes[0].code == code
    assert says in statement.summary
    assert statement.steps == ()


def test_completed_and_failed() -> None:
    done = pod(terminated(0), status={"phase": "Succeeded"}, spec={"restartPolicy": "OnFailure"})
    assert cause(done).code == "Completed"
    found = cause(pod(terminated(137, "OOMKilled"), spec={"restartPolicy": "Never"}, status={"phase": "Failed"}))
    assert found.code == "OOMKilled"
    owned = {"ownerReferences": [{"kind": "Job", "name": "batch", "controller": True}]}
    found = cause(pod(terminated(2), metadata=owned, status={"phase": "Failed"}))
    assert any("Job batch" in remedy for remedy in found.remedies)


def test_a_job_whose_container_ended_is_finishing() -> None:
    statement = reported(pod(terminated(0), spec={"restartPolicy": "Never"}, status={"phase": "Running"}))
    assert statement.stage == "finishing"
    assert step(statement.causes[0], "ended").certain


# -- deletion -------------------------------------------------------------------------------------------------------


def test_within_the_grace_period_the_kill_is_predicted() -> None:
    subject = pod(running(), metadata=DELETED, status={"observedGeneration": 2})
    found = cause(subject, event("Killing", "Stopping container main", 8, container="main"))
    assert found.code == "GracePeriod"
    assert in_seconds(step(found, "ended").window) == (-8, 23)


def test_past_the_grace_period_it_is_overdue() -> None:
    old = {"deletionTimestamp": ago(600), "deletionGracePeriodSeconds": 30, "generation": 2}
    found = cause(pod(running(since=900), metadata=old, status={"observedGeneration": 2}))
    assert found.code == "TerminationOverdue"


def test_a_deletion_that_the_kubelet_has_not_processed() -> None:
    assert cause(pod(running(), metadata=DELETED, status={"observedGeneration": 1})).code == "DeletionNotSeen"


def test_finalizers_keep_the_object() -> None:
    held = {"finalizers": ["example.com/wait"], "deletionTimestamp": ago(60), "deletionGracePeriodSeconds": 0}
    found = cause(pod(terminated(0), metadata=held, status={"phase": "Succeeded"}))
    assert found.code == "Finalizers"
    assert "example.com/wait" in found.says


def test_volumes_that_are_not_unmounted() -> None:
    subject = pod(terminated(0), metadata=DELETED, spec={"volumes": [{"name": "data"}]}, status={"phase": "Succeeded"})
    found = cause(subject)
    assert found.code == "VolumesNotUnmounted"
    assert "data" in found.says


def test_a_missing_node_and_a_silent_node() -> None:
    subject = pod(running(), metadata=DELETED)
    assert cause(subject, node_gone=True).code == "NodeGone"
    assert cause(subject, node=node("Unknown", "Kubelet stopped posting node status.")).code == "NodeUnreachable"
    assert cause(pod(running()), node=node("True")).code == "Running"


def test_a_deleted_mirror_pod() -> None:
    found = cause(pod(running(), metadata={**MIRROR, **DELETED}))
    assert found.code == "MirrorPod"
    assert any("manifest" in remedy for remedy in found.remedies)


def test_a_mirror_pod_is_named_as_such() -> None:
    assert "static pod" in cause(pod(running(), metadata=MIRROR)).says


# -- before a node, resize, deadline -----------------------------------------------------------------------------------


def test_a_pod_without_a_node() -> None:
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available",
    }
    bare: dict[str, Any] = {"containerStatuses": [], "startTime": None}
    assert cause(pod(spec={"nodeName": ""}, status={**bare, "conditions": [refused]})).code == "Unschedulable"
    assert cause(pod(spec={"nodeName": ""}, status={**bare, "conditions": []})).code == "NotScheduled"
    gated = {"nodeName": "", "schedulingGates": [{"name": "quota"}]}
    assert "quota" in cause(pod(spec=gated, status={**bare, "conditions": []})).says
    assert cause(pod(status={**bare, "conditions": []})).code == "NotSeenByKubelet"


@pytest.mark.parametrize(
    ("kind", "reason", "code"),
    [
        ("PodResizePending", "Deferred", "ResizeDeferred"),
        ("PodResizePending", "Infeasible", "ResizeInfeasible"),
        ("PodResizeInProgress", "", "ResizeInProgress"),
        ("PodResizeInProgress", "Error", "ResizeError"),
    ],
)
def test_resize_states(kind: str, reason: str, code: str) -> None:
    resize = {"type": kind, "status": "True", "reason": reason, "message": "why"}
    subject = pod(running(), status={"conditions": [resize, *conditions(ready=True)]})
    assert cause(subject).code == code


def test_a_change_that_the_kubelet_has_not_processed() -> None:
    subject = pod(running(), metadata={"generation": 3}, status={"observedGeneration": 2})
    assert cause(subject).code == "NotObserved"


def test_an_active_deadline_is_reported_with_the_other_causes() -> None:
    statement = reported(pod(running(), spec={"activeDeadlineSeconds": 600}))
    deadline = next(one for one in statement.causes if one.code == "ActiveDeadline")
    assert in_seconds(deadline.steps[0].window) == (480, None)


# -- how it is shown --------------------------------------------------------------------------------------------------


def test_the_page_has_all_parts() -> None:
    message = "back-off 40s restarting failed container=main pod=web_shop(u1)"
    text = page(reported(pod(waiting("CrashLoopBackOff", message, end(1, finished=10), restarts=3))))
    for part in ("Pod shop/web on node n1: starting", "Now ", "Rule ", "Next ", "Change ", "Seen ", "Unseen "):
        assert part in text
    assert "between 12:00:30Z (in 30s) and 12:00:51Z" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_same_as_json() -> None:
    value = as_json(reported(pod(terminated(1), status={"phase": "Running"})))
    assert value["pod"] == {"namespace": "shop", "name": "web", "uid": "u1", "node": "n1"}
    assert value["causes"][0]["next"][0]["change"] == "started"
    assert value["causes"][0]["next"][0]["notBefore"] == ago(5)


def test_an_empty_pod_is_explained() -> None:
    from kubesim.attach.explain.explain import explain

    assert explain(Observation(Pod(), NOW)).causes

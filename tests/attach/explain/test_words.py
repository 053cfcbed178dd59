"""Texts of explanations: evictions, restarts, missing objects, missing nodes, old kubelets, deadlines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.pod import Pod
from kubesim.attach.explain.observation import Observation
from kubesim.attach.rules.named_objects import named_object
from kubesim.attach.shadow.consistency import status_divergences
from kubesim.cli.main import main
from tests.support.attach.pods import NOW, ago, cause, conditions, end, event, node, pod, reported, running, waiting

CASES = Path(__file__).parents[1] / "cases"
PROBE = {"tcpSocket": {"port": 80}, "periodSeconds": 5, "failureThreshold": 2}
PROBED = {"containers": [{"name": "main", "image": "nginx:1.27", "livenessProbe": PROBE}]}
KILLING = "Container main failed liveness probe, will be restarted"


def old_kubelet(*statuses: dict[str, Any], **more: Any) -> Pod:
    """A pod as a kubelet before v1.29 reports it."""
    kept = [one for one in conditions() if one["type"] != "PodReadyToStartContainers"]
    return pod(*statuses, status={"conditions": kept, **more})


# -- evictions ------------------------------------------------------------------------------------------------------


def test_an_eviction_is_explained_although_the_phase_is_succeeded(capsys: pytest.CaptureFixture[str]) -> None:
    """Recorded: the program exits with 0 on SIGTERM, and the status has neither reason nor message."""
    files = [str(CASES / "evicted-succeeded.json"), "--events", str(CASES / "evicted-succeeded-events.json")]
    assert main(["explain", *files, "-o", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["causes"]
    assert found["code"] == "Evicted"
    assert found["says"] == 'The kubelet evicted the pod: Usage of EmptyDir volume "d" exceeds the limit "1Mi".'
    assert "Succeeded" in found["rule"]
    assert any("raise the size limit" in remedy for remedy in found["wouldChange"])
    assert main(["explain", files[0], "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["causes"][0]["code"] == "StoppedByKubelet"


def test_an_eviction_by_another_client_is_not_attributed_to_the_kubelet() -> None:
    given = event("Evicted", "Evicted pod").to_json() | {"reportingComponent": "karpenter"}
    done = pod(status={"phase": "Succeeded"}, spec={"restartPolicy": "Never"})
    assert cause(done, Event.from_json(given)).code == "Completed"
    assert cause(done, event("Evicted", "The node was low on resource: memory.")).code == "Evicted"


def test_a_pod_that_is_being_evicted_has_no_next_restart() -> None:
    evicts = event("Evicted", "The node was low on resource: memory. ", seconds_ago=3)
    for subject in (pod(running()), pod(waiting("CrashLoopBackOff", "", end(137), restarts=2))):
        statement = reported(subject, evicts)
        assert [one.code for one in statement.causes] == ["Evicted"]
        assert statement.summary == "The kubelet is evicting the pod: The node was low on resource: memory."
        assert not any(step.certain for step in statement.steps)
    assert cause(pod(running(since=1)), evicts).code == "Running"


# -- restarts -------------------------------------------------------------------------------------------------------


def test_a_running_pod_with_many_restarts_shows_their_number() -> None:
    since = running(since=20, restarts=18) | {"lastState": {"terminated": end(137, finished=21, started=60)}}
    events = (
        event("Killing", KILLING, 25, 9, "main"),
        event("Unhealthy", "Liveness probe failed: refused", 25, 18, "main"),
    )
    statement = reported(pod(since, spec=PROBED), *events)
    now, also = statement.causes
    assert now.says == "The pod runs and is ready now, but it had 18 restarts, last: liveness probe failed."
    assert now.detail == "18 restarts, last: liveness probe failed"
    assert "restarted 18 times" in also.says
    assert "The last attempt, which ended 21s ago, exited with 137 (SIGKILL)" in also.says
    assert "because its liveness probe failed and the kubelet stopped it" in also.says
    assert {"event Killing", "event Unhealthy"} <= {fact.field for fact in also.facts}
    assert any("liveness probe" in remedy for remedy in also.remedies)


def test_the_last_reason_is_that_of_the_last_exit() -> None:
    since = running(restarts=2) | {"lastState": {"terminated": end(137, "OOMKilled", finished=70)}}
    assert cause(pod(since), event("Killing", KILLING, 200, 1, "main")).detail == "2 restarts, last: OOMKilled"
    assert (
        cause(pod(running(restarts=1) | {"lastState": {"terminated": end(3)}})).detail == "1 restart, last: exit code 3"
    )
    assert cause(pod(running())).detail == ""


def test_a_container_stopped_for_its_probe_is_named_before_it_has_ended() -> None:
    subject = pod(running(since=20), spec=PROBED)
    found = cause(subject, event("Killing", KILLING, 3, 1, "main"))
    assert found.code == "ProbeFailed"
    assert "stops container main because its liveness probe failed" in found.says
    assert cause(subject, event("Killing", KILLING, 30, 1, "main")).code == "Running"


# -- what is missing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('configmap "settings" not found', "ConfigMap settings not found"),
        ('MountVolume.SetUp failed for volume "d" : secret "db" not found', "Secret db not found"),
        ("couldn't find key url in Secret shop/db", "no key url in Secret shop/db"),
        ('persistentvolumeclaim "data" not found', "PersistentVolumeClaim data not found"),
        ("context deadline exceeded", ""),
    ],
)
def test_the_missing_object_is_named(message: str, expected: str) -> None:
    assert named_object(message) == expected


def test_causes_name_the_missing_object() -> None:
    assert cause(pod(waiting("ImagePullBackOff"))).detail == "nginx:1.27"
    assert cause(pod(waiting("ErrImageNeverPull"))).detail == "nginx:1.27"
    missing = waiting("CreateContainerConfigError", 'configmap "settings" not found')
    assert cause(pod(missing)).detail == "ConfigMap settings not found"
    mount = event("FailedMount", 'MountVolume.SetUp failed for volume "d" : secret "db" not found')
    assert cause(pod(waiting("ContainerCreating"), sandbox=False), mount).detail == "Secret db not found"


# -- nodes that do not exist ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subject",
    [
        pod(status={"conditions": [], "startTime": None}),
        pod(waiting("ImagePullBackOff")),
        pod(waiting("CrashLoopBackOff", "", end(1), restarts=2)),
        pod(running(), metadata={"deletionTimestamp": ago(5), "deletionGracePeriodSeconds": 30}),
    ],
)
def test_without_a_node_nothing_is_predicted(subject: Pod) -> None:
    for missing in ({"node_gone": True}, {"node": node("Unknown", "Kubelet stopped posting node status.")}):
        statement = reported(
            subject, event("Failed", 'Failed to pull image "nginx:1.27": x', container="main"), **missing
        )
        assert statement.causes[0].code in ("NodeGone", "NodeUnreachable")
        assert statement.steps
        assert not any(step.certain or step.due or step.window for step in statement.steps)
    assert any(step.certain for step in reported(subject).steps)


def test_a_missing_node_is_named() -> None:
    assert cause(pod(running()), node_gone=True).says == "The cluster has no node n1: no kubelet acts on the pod."


# -- kubelets before v1.29 ------------------------------------------------------------------------------------------


def test_a_pull_that_fails_has_a_sandbox_even_without_the_condition() -> None:
    assert cause(old_kubelet(waiting("ImagePullBackOff"))).code == "ImagePullBackOff"
    assert cause(old_kubelet(waiting("CreateContainerConfigError"))).code == "CreateContainerConfigError"
    pulling = event("Pulling", 'Pulling image "nginx:1.27"', 2, 1, "main")
    assert cause(old_kubelet(waiting("ContainerCreating")), pulling).code == "ContainerCreating"


def test_without_the_condition_a_sandbox_that_fails_is_still_missing() -> None:
    found = cause(old_kubelet(waiting("ContainerCreating")))
    assert found.code == "SandboxNotReady"
    assert "PodReadyToStartContainers" not in found.steps[0].what
    pulled = event("Pulled", "already present", 60, 1, "main")
    failed = event("FailedCreatePodSandBox", "no IP addresses available", 3)
    assert cause(old_kubelet(waiting("ContainerCreating")), pulled, failed).code == "FailedCreatePodSandBox"


# -- activeDeadlineSeconds ------------------------------------------------------------------------------------------


def test_a_deadline_that_has_passed_is_not_in_the_future() -> None:
    spec = {"activeDeadlineSeconds": 100}
    assert reported(pod(running(), spec=spec)).summary.startswith("The pod was active for longer than its 100 s")
    assert "Running" not in {one.code for one in reported(pod(running(), spec=spec)).causes}
    later = reported(pod(running(), spec={"activeDeadlineSeconds": 500})).causes[-1]
    assert later.says == "The pod may be active for 500 s; then the kubelet stops it."


def test_a_condition_that_should_be_false_is_not_called_false() -> None:
    wrong = [one | ({"reason": "Nonsense"} if one["type"] == "Ready" else {}) for one in conditions()]
    seen = Observation(pod(waiting("x"), status={"conditions": wrong}), NOW)
    (found,) = [one.says for one in status_divergences(seen, None)]
    expected = "condition Ready is False Nonsense, where the containers mean False ContainersNotReady"
    assert found.startswith(expected)

"""SyncPod and its siblings: the effects of one sync of a pod, and what limits them.

One rule of kubelet.go (SyncPod, SyncTerminatingPod, SyncTerminatedPod) per test, each seen from outside a whole node in
virtual time: in the syncs of the pod's worker, in the calls to the runtime, in Events and in what the API server gets.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.timestamps import SECOND
from kubesim.runtime.protocol import RuntimeConditions
from kubesim.scenario.language.document import Scenario
from kubesim.trace.records import ApiWrite, CriCall, ProbeOutcome, SyncBegin, SyncEnd
from tests.support.driven_node import DrivenNode
from tests.support.played import Played, container, pod

DELETED = {"at": "10s", "delete": {"pod": "web"}}


def played(*steps: dict[str, Any], scenario: dict[str, Any] | None = None, **spec: Any) -> Played:
    """A minute of the pod `web`."""
    return Played(*steps, objects=[pod("web", **spec)], **(scenario or {}))


def write_static_pod(at: str, manifest: dict[str, Any]) -> dict[str, Any]:
    return {"at": at, "writeStaticPod": {"file": "web.yaml", "manifest": manifest}}


# -- a pod that should run -------------------------------------------------------------------------------------------


def test_the_status_is_reported_before_the_first_runtime_call() -> None:
    story = played()
    (first, *_) = story.when(ApiWrite, "web", by="kubelet")
    (sandbox,) = story.when(CriCall, "web", call="RunPodSandbox")
    assert first < sandbox
    assert story.statuses("web")[0]["containers"]["main"]["state"] == "waiting/ContainerCreating"


def test_a_ready_sandbox_is_reported_while_images_are_pulled() -> None:
    story = played(image="slow:1", scenario={"images": [{"name": "*", "pullTime": "20s"}]})
    pulling, ready = story.statuses("web")[:2]
    assert (pulling["conditions"]["PodReadyToStartContainers"], pulling["phase"]) == ("False", "Pending")
    assert (ready["conditions"]["PodReadyToStartContainers"], ready["phase"]) == ("True", "Pending")
    (started,) = story.starts("web")
    assert story.when(ApiWrite, "web", by="kubelet")[1] < started - 15


def test_a_pod_in_a_terminal_phase_is_not_synced_again_but_terminated() -> None:
    story = played(restartPolicy="Never", command=["true"])
    assert story.syncs("web")[-3:] == ["SyncPod", "SyncTerminatingPod", "SyncTerminatedPod"]
    assert story.sequence("web", after=story.when(SyncBegin, "web", sync="SyncTerminatingPod")[0]) == ["StopPodSandbox"]


def test_a_sync_that_changed_something_is_followed_by_a_relist_immediately() -> None:
    """The next sync sees the new container without waiting for the next relist."""
    story = played()
    _, second, *_ = story.when(SyncBegin, "web", sync="SyncPod")
    (end, *_) = story.when(SyncEnd, "web", sync="SyncPod")
    assert second - end < 0.1


def test_a_failed_sync_is_retried() -> None:
    story = played(scenario={"nodes": [{"name": "node-1", "sandboxErrors": ["no room", "no room"]}]})
    assert len(story.sync_errors("web")) == 2
    assert story.result.phases == {"default/web": "Running"}


def test_a_sync_during_a_back_off_is_retried_when_the_back_off_has_expired() -> None:
    """Not after the ten to fifteen seconds of a normal retry."""
    story = played(command=["false"], scenario={"duration": "2m"})
    fourth, fifth = story.starts("web")[3:5]
    assert [t for t in story.when(SyncBegin, "web") if fourth + 2 < t < fourth + 40] == []
    assert fifth > fourth + 40


def test_a_pod_past_its_active_deadline_fails() -> None:
    story = played(activeDeadlineSeconds=20)
    assert story.statuses("web")[-1]["reason"] == "DeadlineExceeded"
    assert story.result.phases == {"default/web": "Failed"}
    assert 20 < story.stops("web")[0] < 35


def test_a_v1_30_kubelet_retries_a_back_off_like_any_failed_sync() -> None:
    story = played(command=["false"], scenario={"duration": "2m", "profile": "v1.30"})
    fourth, fifth = story.starts("web")[3:5]
    retries = [t for t in story.when(SyncBegin, "web") if fourth + 2 < t < fifth + 0.1]
    assert len(retries) >= 3
    assert all(9 < later - earlier < 17 for earlier, later in pairwise(retries))


@pytest.mark.parametrize(("policy", "starts", "phase"), [("Always", 2, "Running"), ("Never", 1, "Succeeded")])
def test_containers_outside_of_a_pod_cgroup_are_stopped(policy: str, starts: int, phase: str) -> None:
    """As after a change of the cgroup root. A pod that runs once has finished by then."""
    images = [{"name": "*", "present": True}]
    node = DrivenNode(Scenario.model_validate({"metadata": {"name": "x"}, "spec": {"images": images}}), 0)
    node.apply(pod("web", restartPolicy=policy, terminationGracePeriodSeconds=1))
    node.wait(10 * SECOND)
    (running,) = node.pods()
    node.kubelet.runtime.destroy_pod_cgroup(running.metadata.uid)
    node.patch("web", {"metadata": {"labels": {"synced": "again"}}})
    node.wait(20 * SECOND)
    (found,) = node.pods()
    assert (found.status.phase, found.status.container_statuses[0].restart_count + 1) == (phase, starts)
    assert (node.kubelet.runtime.pod_cgroup(found.metadata.uid) is None) == (policy == "Never")
    node.shut()


# -- what keeps a pod from starting ----------------------------------------------------------------------------------


def test_an_unavailable_runtime_keeps_pods_waiting() -> None:
    story = Played({"at": "1s", "stop": "runtime"}, {"at": "45s", "apply": pod("web")}, duration="90s")
    assert story.starts("web") == []


def without_network(**spec: Any) -> tuple[str, list[str]]:
    """The phase of the pod `web` on a node whose runtime has no network, and the messages of its Events."""
    images = [{"name": "*", "present": True}]
    node = DrivenNode(Scenario.model_validate({"metadata": {"name": "x"}, "spec": {"images": images}}), 0)
    node.runtime.set_conditions(RuntimeConditions(network_problem="no CNI configuration"))
    node.wait(20 * SECOND)
    node.apply(pod("web", **spec))
    node.wait(10 * SECOND)
    phase = node.pods()[0].status.phase
    events = [event for event in node.store.list("Event") if isinstance(event, Event)]
    node.shut()
    return phase, [event.message for event in events if event.reason == "NetworkNotReady"]


def test_a_pod_waits_until_the_network_is_ready() -> None:
    phase, messages = without_network()
    assert phase == "Pending"
    assert messages[0] == "network is not ready: container runtime network not ready: no CNI configuration"


def test_a_pod_on_the_hosts_network_does_not_wait_for_the_network() -> None:
    assert without_network(hostNetwork=True) == ("Running", [])


def test_a_missing_volume_blocks_the_creation_of_the_sandbox() -> None:
    mounted = container("main", volumeMounts=[{"name": "v", "mountPath": "/v"}])
    story = played(
        containers=[mounted],
        volumes=[{"name": "v", "configMap": {"name": "absent"}}],
        scenario={"duration": "3m"},
    )
    assert story.calls("web") == []
    assert story.sync_errors("web")[0].startswith("unmounted volumes=[v], unattached volumes=[]")
    assert any('configmap "absent" not found' in message for message in story.messages("FailedMount", "web"))


def test_a_missing_pull_secret_is_an_event_but_the_image_is_pulled_nevertheless() -> None:
    story = played(imagePullSecrets=[{"name": "absent"}])
    assert story.messages("FailedToRetrieveImagePullSecret", "web")[0] == (
        "Unable to retrieve some image pull secrets (absent); attempting to pull the image may not succeed."
    )
    assert len(story.starts("web")) == 1


# -- static pods -----------------------------------------------------------------------------------------------------


def test_a_static_pod_gets_a_mirror_pod() -> None:
    assert Played(write_static_pod("5s", pod("web"))).result.phases == {"default/web-node-1": "Running"}


def test_a_deleted_mirror_pod_is_recreated() -> None:
    story = Played(write_static_pod("5s", pod("web")), {"at": "20s", "delete": {"pod": "web-node-1"}})
    assert story.result.phases == {"default/web-node-1": "Running"}
    assert story.calls(after=20) == []


def test_a_regular_pod_gets_no_mirror_pod() -> None:
    assert played().result.phases == {"default/web": "Running"}


# -- a pod that must end ---------------------------------------------------------------------------------------------


def test_a_deleted_pod_is_stopped_before_it_is_deleted_from_the_api_server() -> None:
    story = played(DELETED)
    assert story.syncs("web")[-2:] == ["SyncTerminatingPod", "SyncTerminatedPod"]
    (stopped,), (deleted,) = story.stops("web"), story.when(ApiWrite, "web", verb="delete", by="kubelet")
    assert stopped < deleted


def test_liveness_is_not_probed_while_the_pod_terminates() -> None:
    alive = {"exec": {"command": ["cat", "/alive"]}, "periodSeconds": 1, "failureThreshold": 1}
    unhealthy = container("main", "touch /alive", "trap 'rm /alive' TERM", "sleep 100000 & wait", "sleep 100000",
                          livenessProbe=alive)  # fmt: skip
    story = played({"at": "10s", "delete": {"pod": "web", "gracePeriodSeconds": 20}}, containers=[unhealthy])
    assert story.when(ProbeOutcome, "web")
    assert max(story.when(ProbeOutcome, "web")) < 11
    assert story.messages("Unhealthy", "web") == []


def test_a_container_that_is_stopped_does_not_restart() -> None:
    assert [t for t in played(DELETED).starts("web") if t > 10] == []


def test_the_final_status_has_the_exit_codes_of_all_containers() -> None:
    dies = container("bad", "trap 'exit 3' TERM", "sleep 100000 & wait")
    story = played(DELETED, containers=[container("good"), dies])
    final = [status for status in story.statuses("web") if "containers" in status][-1]
    assert {name: reported["state"] for name, reported in final["containers"].items()} == {
        "good": "terminated/0/Completed", "bad": "terminated/3/Error",
    }  # fmt: skip


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
def test_a_deleted_pod_ends_in_the_phase_of_its_exit_codes(code: int, phase: str) -> None:
    story = played(DELETED, containers=[container("main", f"trap 'exit {code}' TERM", "sleep 100000 & wait")])
    assert story.result.phases == {"default/web": phase}


def test_a_pod_whose_containers_cannot_be_stopped_stays_terminating() -> None:
    story = played(
        {"at": "10s", "stop": "runtime"}, {"at": "12s", "delete": {"pod": "web"}}, {"at": "40s", "start": "runtime"},
        scenario={"duration": "3m"},
    )  # fmt: skip
    assert story.syncs("web").count("SyncTerminatingPod") > 1
    assert story.messages("FailedKillPod", "web")[0].startswith("error killing pod: ")
    (deleted,) = story.when(ApiWrite, "web", verb="delete", by="kubelet")
    assert deleted > 40


def test_a_stop_in_progress_is_not_shortened_by_a_second_deletion_with_less_grace() -> None:
    """SyncTerminatingPod stops the pod with its own context, which is never cancelled."""
    stubborn = container("main", "trap '' TERM", "sleep 100000 & wait")
    story = played(
        DELETED, {"at": "15s", "delete": {"pod": "web", "gracePeriodSeconds": 2}},
        containers=[stubborn], terminationGracePeriodSeconds=30, scenario={"duration": "90s"},
    )  # fmt: skip
    (deleted,) = story.when(ApiWrite, "web", verb="delete", by="kubelet")
    assert 40 < deleted < 42


# -- a pod that has ended --------------------------------------------------------------------------------------------


def test_a_completed_pod_is_kept_until_it_is_deleted() -> None:
    story = played(restartPolicy="Never", command=["true"])
    assert "SyncTerminatedPod" in story.syncs("web")
    assert "delete pods" not in story.writes("web")


def test_the_api_object_is_deleted_only_after_the_volumes_are_unmounted() -> None:
    mounted = container("main", volumeMounts=[{"name": "v", "mountPath": "/v"}])
    story = played(DELETED, containers=[mounted], volumes=[{"name": "v", "emptyDir": {}}])
    terminated = story.when(SyncEnd, "web", sync="SyncTerminatedPod")
    (deleted,) = story.when(ApiWrite, "web", verb="delete", by="kubelet")
    assert terminated
    assert deleted >= terminated[0]

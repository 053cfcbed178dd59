"""The handlers of the sync loop: the effects of pods that are added, changed or removed.

One rule of kubelet.go (HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile, HandlePodSyncs) per
test, each seen from outside a whole node in virtual time.
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod
from kubesim.kubelet.loop.handlers import need_to_reconcile_pod_readiness
from kubesim.trace.records import ApiWrite, CriCall, WorkerUpdate
from tests.support.played import Played, container, pod

HUGE = {"requests": {"cpu": "3"}}
SMALL_NODE = [{"name": "node-1", "capacity": {"cpu": "4"}}]
GATE = "example.com/ready"


def write_static_pod(at: str, manifest: dict[str, Any]) -> dict[str, Any]:
    return {"at": at, "writeStaticPod": {"file": "web.yaml", "manifest": manifest}}


def updates(story: Played, name: str) -> list[str]:
    """The updates that the pod's worker got."""
    return [r.update for r in story.records if isinstance(r, WorkerUpdate) and r.pod == f"default/{name}"]


# -- additions -------------------------------------------------------------------------------------------------------


def test_a_new_pod_is_given_to_its_worker_as_a_create() -> None:
    assert updates(Played(objects=[pod("web")]), "web")[0] == "create"


def test_a_pod_that_is_not_admitted_fails_and_never_starts() -> None:
    story = Played(objects=[pod("web", nodeName="node-1", nodeSelector={"disk": "ssd"})])
    assert story.calls("web") == []
    assert story.events("web") == ["NodeAffinity"]
    (status,) = story.statuses("web")
    assert (status["phase"], status["reason"]) == ("Failed", "NodeAffinity")


def test_a_pod_that_is_not_admitted_gets_no_worker() -> None:
    story = Played(objects=[pod("web", nodeName="node-1", nodeSelector={"disk": "ssd"})])
    assert updates(story, "web") == []


def test_pods_that_arrive_together_are_admitted_oldest_first() -> None:
    """After a restart the kubelet sees all its pods at once; the oldest is admitted first."""
    resources = container("main", resources=HUGE)
    story = Played(
        {"at": "0s", "stop": "kubelet"},
        {"at": "5s", "apply": pod("young", nodeName="node-1", containers=[resources])},
        {"at": "10s", "start": "kubelet"},
        nodes=SMALL_NODE,
        objects=[pod("old", nodeName="node-1", containers=[resources])],
    )
    assert story.result.phases == {"default/old": "Running", "default/young": "Failed"}
    assert story.events("young") == ["OutOfcpu"]


def test_a_terminated_pod_is_not_admitted_again_by_a_new_kubelet() -> None:
    story = Played({"at": "20s", "restart": "kubelet"}, objects=[pod("web", restartPolicy="Never", command=["true"])])
    assert len(story.starts("web")) == 1
    assert story.result.phases == {"default/web": "Succeeded"}


def test_a_terminated_pod_needs_no_admission() -> None:
    """The node has lost the label that the pod selects, which no longer matters."""
    unlabelled = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": {"disk": "hdd"}}}
    story = Played(
        {"at": "15s", "apply": unlabelled}, {"at": "20s", "restart": "kubelet"},
        nodes=[{"name": "node-1", "labels": {"disk": "ssd"}}],
        objects=[pod("web", restartPolicy="Never", command=["true"], nodeSelector={"disk": "ssd"})],
    )  # fmt: skip
    assert "NodeAffinity" not in story.events("web")
    assert story.result.phases == {"default/web": "Succeeded"}


def test_a_terminated_pod_uses_no_resources_when_a_v1_30_kubelet_admits_it_again() -> None:
    done = container("main", command=["sleep", "5"], resources=HUGE)
    story = Played(
        {"at": "10s", "apply": pod("web", nodeName="node-1", containers=[container("main", resources=HUGE)])},
        {"at": "30s", "restart": "kubelet"},
        nodes=SMALL_NODE,
        profile="v1.30",
        objects=[pod("done", nodeName="node-1", restartPolicy="Never", containers=[done])],
    )
    assert story.result.phases == {"default/done": "Succeeded", "default/web": "Running"}


def test_a_running_pod_is_recognized_by_a_new_kubelet() -> None:
    story = Played({"at": "20s", "restart": "kubelet"}, objects=[pod("web")])
    assert story.calls("web", after=20) == []
    assert updates(story, "web").count("create") == 2


def test_a_deleted_pod_is_stopped_by_a_new_kubelet() -> None:
    story = Played(
        {"at": "10s", "stop": "kubelet"}, {"at": "12s", "delete": {"pod": "web"}}, {"at": "20s", "start": "kubelet"},
        objects=[pod("web")],
    )  # fmt: skip
    assert story.stops("web")[0] > 20
    assert "delete pods" in story.writes("web")


# -- updates ---------------------------------------------------------------------------------------------------------


def test_a_changed_spec_is_given_to_the_worker_as_an_update() -> None:
    changed = {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}
    story = Played({"at": "10s", "patch": {"pod": "web", "patch": changed}}, objects=[pod("web")])
    assert "update" in updates(story, "web")
    assert story.stops("web")[0] < 11


def test_a_changed_label_is_an_update_but_does_not_affect_containers() -> None:
    changed = {"metadata": {"labels": {"a": "b"}}}
    story = Played({"at": "10s", "patch": {"pod": "web", "patch": changed}}, objects=[pod("web")])
    assert "update" in updates(story, "web")
    assert story.calls("web", after=10) == []


def test_a_deletion_is_an_update_that_ends_the_pod_gracefully() -> None:
    story = Played({"at": "10s", "delete": {"pod": "web"}}, objects=[pod("web")])
    (stop,) = (r for r in story.records if isinstance(r, CriCall) and r.call == "StopContainer")
    assert stop.args["timeout"] == 5
    assert "update" in updates(story, "web")


# -- removals --------------------------------------------------------------------------------------------------------


def test_a_pod_whose_object_is_deleted_is_killed() -> None:
    story = Played({"at": "10s", "delete": {"pod": "web", "gracePeriodSeconds": 0}}, objects=[pod("web")])
    assert "kill" in updates(story, "web")
    assert 10 < story.stops("web")[0] < 11


def test_a_static_pod_whose_file_is_removed_is_killed() -> None:
    story = Played(write_static_pod("5s", pod("web")), {"at": "20s", "removeStaticPod": {"file": "web.yaml"}})
    (stopped,) = story.when(CriCall, call="StopContainer")
    assert 20 <= stopped < 21


def test_a_static_pod_whose_mirror_is_removed_continues() -> None:
    story = Played(
        write_static_pod("5s", pod("web")), {"at": "20s", "delete": {"pod": "web-node-1", "gracePeriodSeconds": 0}}
    )
    assert story.calls(after=20) == []


# -- reconciliation --------------------------------------------------------------------------------------------------


def test_a_status_written_by_another_client_is_corrected_by_the_kubelet() -> None:
    wrong = {"at": "20s", "patch": {"pod": "web", "subresource": "status", "patch": {"status": {"phase": "Pending"}}}}
    story = Played(wrong, objects=[pod("web")])
    assert story.writes("web", after=20) == ["patch pods/status"]
    assert story.result.phases == {"default/web": "Running"}


def test_a_status_written_by_another_client_does_not_affect_containers() -> None:
    wrong = {"at": "20s", "patch": {"pod": "web", "subresource": "status", "patch": {"status": {"phase": "Pending"}}}}
    assert Played(wrong, objects=[pod("web")]).calls("web", after=20) == []


def test_a_readiness_gate_that_opens_makes_the_pod_ready_immediately() -> None:
    condition = {"type": GATE, "status": "True"}
    opened = {"pod": "web", "subresource": "status", "patch": {"status": {"conditions": [condition]}}}
    story = Played({"at": "20s", "patch": opened}, objects=[pod("web", readinessGates=[{"conditionType": GATE}])])
    ready = [s["conditions"]["Ready"] for s in story.statuses("web")]
    assert (ready[-2], ready[-1]) == ("False/ReadinessGatesNotReady", "True")
    assert 20 < story.when(ApiWrite, "web", by="kubelet")[-1] < 21


def with_conditions(*conditions: tuple[str, str], gates: tuple[str, ...] = (GATE,)) -> Pod:
    reported = [{"type": type, "status": status} for type, status in conditions]
    spec = {"containers": [], "readinessGates": [{"conditionType": gate} for gate in gates]}
    return Pod.from_json(
        {"metadata": {"name": "p"}, "spec": spec, "status": {"phase": "Running", "conditions": reported}}
    )


def test_a_pod_without_readiness_gates_needs_no_sync_for_them() -> None:
    assert not need_to_reconcile_pod_readiness(with_conditions(("Ready", "False"), gates=()))


def test_a_pod_without_a_ready_condition_needs_no_sync() -> None:
    assert not need_to_reconcile_pod_readiness(with_conditions((GATE, "True")))


def test_a_pod_whose_ready_condition_contradicts_its_gates_needs_a_sync() -> None:
    assert need_to_reconcile_pod_readiness(with_conditions(("Ready", "False"), (GATE, "True")))
    assert need_to_reconcile_pod_readiness(with_conditions(("Ready", "True"), (GATE, "False")))


def test_a_pod_whose_ready_condition_agrees_with_its_gates_needs_no_sync() -> None:
    assert not need_to_reconcile_pod_readiness(with_conditions(("Ready", "True"), (GATE, "True")))


# -- regular syncs ---------------------------------------------------------------------------------------------------


def test_a_pod_in_which_a_container_ended_is_given_to_its_worker_as_a_sync() -> None:
    story = Played({"at": "20s", "kill": {"pod": "web", "container": "main"}}, objects=[pod("web")])
    kinds = [r.update for r in story.records if isinstance(r, WorkerUpdate) and r.t > 20_000_000]
    assert set(kinds) == {"sync"}
    assert len(story.starts("web")) == 2


def test_a_mirror_pod_has_no_worker_of_its_own() -> None:
    story = Played(write_static_pod("5s", pod("web")))
    static, *others = {r.uid for r in story.records if isinstance(r, WorkerUpdate)}
    assert static
    assert others == []

"""The status of a PodDisruptionBudget: the cases of upstream's disruption_test.go in a simulated cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.pod_conditions import with_condition
from kubesim.api.timestamps import MINUTE, format_time
from kubesim.cluster.controllers import manager
from kubesim.cluster.controllers.disruption.budget_status import scaled_value
from kubesim.cluster.store.kinds import resource_of
from tests.support.cluster.controlled import ControlledCluster, controlled

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"foo": "bar"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
SELECTOR = {"matchLabels": {"foo": "bar"}}


@pytest.fixture(autouse=True)
def _only_this_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the disruption controller alone: owners exist, but no controller creates pods for them."""
    kind = "PodDisruptionBudget"
    monkeypatch.setattr(manager, "CONTROLLERS", {kind: manager.CONTROLLERS[kind]})


def budget(cluster: ControlledCluster, selector: dict[str, Any] | None = None, **spec: Any) -> None:
    body = {"selector": SELECTOR if selector is None else selector, **spec}
    cluster.create({"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": {"name": "b"}, "spec": body})


def owner(cluster: ControlledCluster, kind: str, name: str, replicas: int, above: dict[str, Any] | None = None) -> Any:
    """An owner reference. The owner has no controller; the test creates its pods."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if above is not None:
        metadata["ownerReferences"] = [above]
    resource = resource_of(kind)
    spec = {"replicas": replicas, "selector": SELECTOR, "template": TEMPLATE, "paused": True}
    cluster.store.put(resource.model.from_json({"kind": kind, "metadata": metadata, "spec": spec}))
    return {
        "apiVersion": resource.api_version,
        "kind": kind,
        "name": name,
        "uid": f"uid-{name}",
        "controller": True,
    }


def pod(cluster: ControlledCluster, name: str, reference: dict[str, Any] | None = None, *, ready: bool = True) -> Pod:
    metadata: dict[str, Any] = {"name": name, "labels": {"foo": "bar"}}
    if reference is not None:
        metadata["ownerReferences"] = [reference]
    made = cluster.create({"kind": "Pod", "metadata": metadata, "spec": {**TEMPLATE["spec"], "nodeName": "n"}})
    assert isinstance(made, Pod)
    return cluster.set_phase(made, "Running", ready=ready)


async def counts(cluster: ControlledCluster) -> tuple[int, int, int, int]:
    """Allowed, healthy, desired and expected pods."""
    await cluster.wait(0.05)
    status = cluster.get("PodDisruptionBudget", "b").status
    return status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods


@pytest.mark.parametrize(
    ("value", "total", "expected"), [(3, 10, 3), ("28%", 11, 4), ("30%", 7, 3), ("30%", 3, 1), ("0%", 5, 0)]
)
def test_a_percentage_is_rounded_up(value: int | str, total: int, expected: int) -> None:
    assert scaled_value(value, total) == expected


def test_an_empty_selector_selects_everything() -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, selector={}, minAvailable=3)
        assert await counts(cluster) == (0, 0, 3, 0)
        assert [(e.type, e.message, e.source.component) for e in cluster.events("NoPods")] == [
            ("Normal", "No matching pods found", "controllermanager")
        ]
        pod(cluster, "yo")
        assert await counts(cluster) == (0, 1, 3, 1)

    controlled(story)


def test_new_pods_and_a_pod_that_becomes_unready() -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, minAvailable=3)
        for n in range(4):
            assert await counts(cluster) == (0, n, 3, n)
            made = pod(cluster, f"p{n}")
        assert await counts(cluster) == (1, 4, 3, 4)
        cluster.set_phase(made, "Running", ready=False)
        assert await counts(cluster) == (0, 3, 3, 4)

    controlled(story)


@pytest.mark.parametrize("spec", [{"maxUnavailable": 1}, {"minAvailable": "28%"}])
def test_pods_without_an_owner_allow_no_disruption(spec: dict[str, Any]) -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, **spec)
        assert (await counts(cluster))[0] == 0
        pod(cluster, "naked")
        assert (await counts(cluster))[0] == 0
        (event,) = cluster.events("UnmanagedPods")
        assert "(selector: &LabelSelector{MatchLabels:map[string]string{foo: bar,},MatchExpressions:" in event.message
        conditions = cluster.get("PodDisruptionBudget", "b").status.conditions
        assert [c["reason"] for c in conditions] == ["InsufficientPods"]

    controlled(story)


def test_an_owner_that_cannot_be_scaled_is_a_failure() -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, minAvailable="28%")
        reference = owner(cluster, "ConfigMap", "fake", 1)
        cluster.store.remove("ConfigMap", "default", "fake")
        pod(cluster, "naked", reference)
        assert (await counts(cluster))[0] == 0
        assert len(cluster.events("CalculateExpectedPodCountFailed")) == 1
        (condition,) = cluster.get("PodDisruptionBudget", "b").status.conditions
        assert condition["reason"] == "SyncFailed"
        assert condition["message"] == 'found no controllers for pod "naked"'

    controlled(story)


@pytest.mark.parametrize(
    ("spec", "first", "second", "before", "after"),
    [
        ({"maxUnavailable": 2}, 7, 5, (0, 1, 5, 7), (0, 1, 3, 5)),
        ({"maxUnavailable": "30%"}, 7, 3, (0, 1, 4, 7), (0, 1, 2, 3)),
    ],
)
def test_the_owners_scale_counts(spec: Any, first: int, second: int, before: Any, after: Any) -> None:
    """The controller does not watch owners: a new scale applies from the next change of a pod."""

    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, **spec)
        reference = owner(cluster, "StatefulSet", "s", first)
        made = pod(cluster, "p", reference)
        assert await counts(cluster) == before
        owner(cluster, "StatefulSet", "s", second)
        assert await counts(cluster) == before
        cluster.set_phase(made, "Running", message="another status")
        assert await counts(cluster) == after

    controlled(story)


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "StatefulSet"])
def test_the_scale_of_every_kind(kind: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, minAvailable="20%")
        pod(cluster, "p", owner(cluster, kind, "o", 10))
        assert await counts(cluster) == (0, 1, 2, 10)

    controlled(story)


def test_two_owners_one_of_them_a_deployment() -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, minAvailable="28%")
        first = owner(cluster, "ReplicationController", "rc", 11)
        pods = [pod(cluster, f"quux{n}", first, ready=n > 6) for n in range(1, 12)]
        assert await counts(cluster) == (1, 5, 4, 11)
        deployment = owner(cluster, "Deployment", "d", 11)
        second = owner(cluster, "ReplicaSet", "rs", 99, above=deployment)
        for n in range(1, 12):
            pod(cluster, f"quuux{n}", second, ready=n > 7)
        assert await counts(cluster) == (2, 9, 7, 22), "the Deployment's scale counts, not its ReplicaSet's"
        cluster.set_phase(pods[-1], "Running", ready=False)
        assert await counts(cluster) == (1, 8, 7, 22)
        cluster.set_phase(pods[-2], "Running", ready=False)
        assert await counts(cluster) == (0, 7, 7, 22)

    controlled(story)


def test_pods_that_were_evicted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for n in (1, 2, 3):
            pod(cluster, f"p{n}")
        cluster.delete("Pod", "p1")
        budget(cluster, minAvailable=1)
        now = cluster.clock.now()
        disrupted = {
            "p1": format_time(now),  # its deletion has started
            "p2": format_time(now - 3 * MINUTE),  # expired
            "p3": format_time(now - MINUTE),  # stays
            "gone": format_time(now),
        }
        stored = cluster.get("PodDisruptionBudget", "b")
        cluster.store.write(stored, stored.changed(status=stored.status.changed(disrupted_pods=disrupted)))
        assert await counts(cluster) == (0, 1, 1, 3)
        status = cluster.get("PodDisruptionBudget", "b").status
        assert status.disrupted_pods == {"p3": format_time(now - MINUTE)}
        (event,) = cluster.events("NotDeleted")
        assert event.message == "Pod was expected by PDB default/default to be deleted but it wasn't"
        await cluster.wait(62)
        assert await counts(cluster) == (1, 2, 1, 3), "nobody has deleted p3 within two minutes"

    controlled(story)


def test_an_unchanged_status_is_not_written() -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, minAvailable=1)
        made = pod(cluster, "p")
        await cluster.wait(0.05)
        version = cluster.get("PodDisruptionBudget", "b").metadata.resource_version
        cluster.set_phase(made, "Running", message="another status")
        await cluster.wait(0.05)
        assert cluster.get("PodDisruptionBudget", "b").metadata.resource_version == version

    controlled(story)


@pytest.mark.parametrize(
    ("passed_s", "status", "reason", "deleted", "expected"),
    [
        (121, "True", "", False, "False"),
        (119, "True", "", False, "True"),
        (121, "True", "", True, "True"),
        (121, "False", "", True, "False"),
        (121, "True", "TerminationByKubelet", False, "True"),
    ],
)
def test_an_expired_disruption_condition_is_removed(
    passed_s: int, status: str, reason: str, deleted: bool, expected: str
) -> None:
    async def story(cluster: ControlledCluster) -> None:
        budget(cluster, minAvailable=1)
        made = pod(cluster, "p")
        if deleted:
            cluster.delete("Pod", "p")
        moment = format_time(cluster.clock.now())
        condition = PodCondition(type="DisruptionTarget", status=status, reason=reason, last_transition_time=moment)
        cluster.set_phase(made, "Running", conditions=with_condition(made.status.conditions, condition))
        await cluster.wait(passed_s)
        found = cluster.get("Pod", "p").status.conditions
        assert [c.status for c in found if c.type == "DisruptionTarget"] == [expected]

    controlled(story)

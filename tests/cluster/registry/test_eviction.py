"""The eviction API checks the pod's disruption budget.

The cases are those of upstream's eviction_test.go, without the ones about conflicting writes.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.workloads.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kubesim.cluster.problems import status_of
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources.eviction import evict
from kubesim.cluster.store.kinds import resource_of
from kubesim.errors import ApiError
from tests.support.cluster.controlled import NAMESPACE, ControlledCluster, controlled

WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
OURS, OTHERS = {"matchLabels": {"a": "true"}}, {"matchLabels": {"b": "true"}}
EVERYTHING: dict[str, Any] = {}
POLICIES = (None, "IfHealthyBudget", "AlwaysAllow")
GUARDED = (None, "IfHealthyBudget")
FAILED = {"type": "DisruptionAllowed", "status": "False", "lastTransitionTime": "2000-01-01T00:00:00Z"}


def budget(
    cluster: ControlledCluster, policy: str | None, selector: dict[str, Any], name: str = "foo", **status: Any
) -> None:
    """A budget without a controller that updates its status."""
    spec = {"selector": selector} | ({"unhealthyPodEvictionPolicy": policy} if policy else {})
    metadata = {"name": name, "namespace": NAMESPACE}
    cluster.store.put(
        PodDisruptionBudget.from_json({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    )
    stored = cluster.get("PodDisruptionBudget", name)
    cluster.store.write(stored, stored.changed(status=PodDisruptionBudgetStatus(**status)))


def running(cluster: ControlledCluster, phase: str = "Running", ready: bool | None = None) -> Pod:
    manifest = {
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "true"}},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }
    pod = cluster.create(manifest)
    assert isinstance(pod, Pod)
    return cluster.set_phase(pod, phase, ready=ready)


def ask(cluster: ControlledCluster, name: str = "p", **options: Any) -> None:
    target = Target(resource_of("Pod"), NAMESPACE, name, "eviction")
    evict(cluster.store, target, {"metadata": {"name": "p"}}, DeleteOptions(**options))


# (policies, phase, ready, selector, status of the budget, message of the cause or None if the pod is deleted)
ROWS: list[tuple[tuple[str | None, ...], str, bool | None, dict[str, Any], dict[str, Any], str | None]] = [
    (GUARDED, "Running", None, OURS, {}, "needs 0 healthy pods and has 0 currently"),
    (POLICIES, "Pending", None, OURS, {}, None),
    (POLICIES, "Succeeded", None, OURS, {}, None),
    (POLICIES, "Failed", None, OURS, {}, None),
    (POLICIES, "Running", None, OURS, {"disruptions_allowed": 1}, None),
    (POLICIES, "Running", None, OTHERS, {}, None),
    (GUARDED, "Running", None, EVERYTHING, {}, "needs 0 healthy pods and has 0 currently"),
    (POLICIES, "Running", True, OURS, {"current_healthy": 2, "desired_healthy": 2},
     "needs 2 healthy pods and has 2 currently"),
    (POLICIES, "Running", True, OURS, {"disruptions_allowed": 1, "current_healthy": 3, "desired_healthy": 3}, None),
    (POLICIES, "Running", False, OURS, {"current_healthy": 2, "desired_healthy": 2}, None),
    (("AlwaysAllow",), "Running", False, OURS, {}, None),
    (POLICIES, "Running", True, EVERYTHING, {"current_healthy": 3, "desired_healthy": 3},
     "needs 3 healthy pods and has 3 currently"),
    (POLICIES, "Running", True, EVERYTHING, {"conditions": (FAILED | {"reason": "SyncFailed", "message": "hoge"},)},
     "does not allow evicting pods currently because it failed sync: hoge"),
    (POLICIES, "Running", True, EVERYTHING,
     {"current_healthy": 4, "desired_healthy": 3, "conditions": (FAILED | {"reason": "Some", "message": "hoge"},)},
     "does not allow evicting pods currently (Some): hoge"),
    (POLICIES, "Running", True, EVERYTHING, {"current_healthy": 4, "desired_healthy": 3},
     "does not allow evicting pods currently"),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "row"), [(policy, number) for number, row in enumerate(ROWS) for policy in row[0]])
def test_a_budget_decides(policy: str | None, row: int) -> None:
    _, phase, ready, selector, status, cause = ROWS[row]

    async def story(cluster: ControlledCluster) -> None:
        running(cluster, phase, ready)
        budget(cluster, policy, selector, **status)
        if cause is None:
            ask(cluster, grace_s=0)
            assert not cluster.pods()
            return
        with pytest.raises(ApiError) as refused:
            ask(cluster, grace_s=0)
        causes = [{"reason": "DisruptionBudget", "message": f"The disruption budget foo {cause}"}]
        assert status_of(refused.value) == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": WOULD_VIOLATE,
            "reason": "TooManyRequests",
            "details": {"causes": causes},
            "code": 429,
        }
        assert cluster.get("Pod", "p").metadata.deletion_timestamp is None

    controlled(story)


def test_the_name_in_the_path_is_used() -> None:
    async def story(cluster: ControlledCluster) -> None:
        running(cluster)
        with pytest.raises(ApiError, match="name in URL does not match name in Eviction object"):
            ask(cluster, name="other")

    controlled(story)


def test_a_pod_being_deleted_is_evicted_without_a_check() -> None:
    async def story(cluster: ControlledCluster) -> None:
        running(cluster, ready=True)
        budget(cluster, None, OURS)
        cluster.delete("Pod", "p")
        ask(cluster, grace_s=300)

    controlled(story)


def test_an_allowed_eviction_is_counted_before_the_pod_is_deleted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        running(cluster, ready=True)
        budget(cluster, None, OURS, disruptions_allowed=1, current_healthy=2, desired_healthy=1, expected_pods=2)
        written = []
        for kind in ("PodDisruptionBudget", "Pod"):
            cluster.store.watch(kind, lambda change: written.append(change.object))
        ask(cluster)
        status, marked, deleted = written
        assert isinstance(status, PodDisruptionBudget)
        assert isinstance(marked, Pod)
        assert status.status.disruptions_allowed == 0
        assert status.status.current_healthy == 2, "the controller counts"
        assert status.status.disrupted_pods == {"p": "2000-01-01T00:00:00Z"}
        assert [(c["status"], c["reason"]) for c in status.status.conditions] == [("False", "InsufficientPods")]
        assert marked.status.conditions[-1].reason == "EvictionByEvictionAPI"
        assert marked.metadata.deletion_timestamp is None
        assert deleted.metadata.deletion_timestamp is not None

    controlled(story)


def test_a_dry_run_checks_but_changes_nothing() -> None:
    async def story(cluster: ControlledCluster) -> None:
        running(cluster, ready=True)
        budget(cluster, None, OURS, disruptions_allowed=1)
        version = cluster.store.resource_version
        ask(cluster, dry_run=True)
        assert cluster.store.resource_version == version
        budget(cluster, None, OURS)
        with pytest.raises(ApiError, match=WOULD_VIOLATE):
            ask(cluster, dry_run=True)

    controlled(story)


def test_two_budgets_for_one_pod_are_a_server_error() -> None:
    async def story(cluster: ControlledCluster) -> None:
        running(cluster, ready=True)
        for name in ("one", "two"):
            budget(cluster, None, OURS, name=name, disruptions_allowed=1)
        with pytest.raises(ApiError, match="more than one PodDisruptionBudget") as refused:
            ask(cluster)
        assert refused.value.code == 500

    controlled(story)


def test_a_budget_without_a_status_rejects_with_retry_after_ten_seconds() -> None:
    async def story(cluster: ControlledCluster) -> None:
        running(cluster, ready=True)
        budget(cluster, None, OURS, disruptions_allowed=1)
        stored = cluster.get("PodDisruptionBudget", "foo")
        cluster.store.write(stored, stored.changed(metadata=stored.metadata.changed(generation=2)))
        with pytest.raises(ApiError, match=WOULD_VIOLATE) as refused:
            ask(cluster)
        assert refused.value.details == {
            "causes": [
                {
                    "reason": "DisruptionBudget",
                    "message": "The disruption budget foo is still being processed by the server.",
                }
            ],
            "retryAfterSeconds": 10,
        }

    controlled(story)

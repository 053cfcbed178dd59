"""The resources of a pod: containers, sidecars, init containers, pod level, overhead, resizes, and QoS class."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import Resources, compute_pod_qos, pod_limits, pod_qos_class, pod_requests
from kubesim.features import FeatureGates


def pod(*containers: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    return Pod.from_json({"spec": {"containers": list(containers), **spec}, "status": status or {}})


def container(name: str = "c", *, restart: str | None = None, limits: Any = None, **requests: str) -> dict[str, Any]:
    resources = {"requests": requests, "limits": limits or {}}
    return {"name": name, "resources": resources, **({"restartPolicy": restart} if restart else {})}


def texts(resources: Resources) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}


def test_an_init_container_needs_room_beside_earlier_sidecars() -> None:
    inits = [container("a", cpu="3"), container("b", restart="Always", cpu="1"), container("c", cpu="3")]
    assert texts(pod_requests(pod(container(cpu="2"), initContainers=inits))) == {"cpu": "4"}
    assert texts(pod_requests(pod(container(cpu="4"), initContainers=inits))) == {"cpu": "5"}


def test_pod_level_overrides_containers_and_overhead_is_added() -> None:
    given = pod(
        container(cpu="1", memory="1Gi", limits={"memory": "2Gi"}),
        resources={"requests": {"cpu": "5", "ephemeral-storage": "1Gi"}, "limits": {"cpu": "6"}},
        overhead={"cpu": "250m", "memory": "64Mi", "example.com/x": "1"},
    )
    assert texts(pod_requests(given)) == {"cpu": "5250m", "memory": "1088Mi", "example.com/x": "1"}
    assert texts(pod_limits(given)) == {"memory": "2112Mi", "cpu": "6250m"}
    assert texts(pod_requests(given, skip_pod_level=True, exclude_overhead=True)) == {"cpu": "1", "memory": "1Gi"}


def resizing(reason: str) -> Pod:
    status = {
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
        "containerStatuses": [
            {
                "name": "c",
                "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}},
                "allocatedResources": {"cpu": "1"},
            }
        ],
        "resources": {"requests": {"memory": "1Gi"}},
        "allocatedResources": {"memory": "2Gi"},
    }
    pod_level = {"requests": {"memory": "3Gi"}, "limits": {"memory": "4Gi"}}
    return pod(container(cpu="5", limits={"cpu": "6"}), status=status, resources=pod_level)


def test_a_pod_being_resized_counts_with_the_larger_value() -> None:
    assert texts(pod_requests(resizing("Deferred"), use_status=True)) == {"cpu": "5", "memory": "3Gi"}
    assert texts(pod_requests(resizing("Infeasible"), use_status=True)) == {"cpu": "2", "memory": "3Gi"}
    assert texts(pod_limits(resizing("Infeasible"))) == {"cpu": "6", "memory": "4Gi"}


def test_pod_level_resources_count_with_the_larger_value() -> None:
    given = resizing("Infeasible")
    assert texts(pod_requests(given, use_status=True, use_pod_level_status=True))["memory"] == "2Gi"
    assert texts(pod_requests(given, use_pod_level_status=True))["memory"] == "3Gi"


def test_qos_by_containers() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    assert compute_pod_qos(pod(container())) == "BestEffort"
    assert compute_pod_qos(pod(container(cpu="0"), container("d", **{"example.com/gpu": "1"}))) == "BestEffort"
    assert compute_pod_qos(pod(container(limits=both, **both))) == "Guaranteed"
    assert compute_pod_qos(pod(container(limits=both, cpu="1000m", memory="1024Mi"))) == "Guaranteed"
    assert compute_pod_qos(pod(container(limits=both, **both), initContainers=[container("i")])) == "Burstable"
    assert compute_pod_qos(pod(container(limits=both))) == "Burstable"


def test_even_empty_pod_level_resources_decide_the_qos_class() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    assert compute_pod_qos(pod(container(), resources={"requests": both, "limits": both})) == "Guaranteed"
    assert compute_pod_qos(pod(container(limits=both, **both), resources={"requests": both})) == "Burstable"
    empty = pod(container(cpu="1"), resources={})
    assert compute_pod_qos(empty) == "BestEffort"
    assert compute_pod_qos(empty, FeatureGates({"PodLevelResources": False})) == "Burstable"


def test_the_stored_qos_class_is_kept() -> None:
    assert pod_qos_class(pod(container(), status={"qosClass": "Burstable"})) == "Burstable"

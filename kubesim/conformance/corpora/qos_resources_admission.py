"""qos_resources_admission: requests, limits, QoS class and admission by predicates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import Resources, compute_pod_qos, pod_limits, pod_requests
from kubesim.conformance.decode import with_empty_pod_level_resources
from kubesim.conformance.frame import differences
from kubesim.kubelet.admission import NodeInfo, admit, predicate_failures

# Reasons with a fixed position in the order of checks.
_ORDERED = {
    *("OutOfpods", "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage"),
    *("NodeAffinity", "NodeName", "NodePorts", "TaintToleration"),
    *("PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "SupplementalGroupsPolicyNotSupported"),
}


def play(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    node = Node.from_json(given["node"])
    pod = Pod.from_json(given["pod"])
    if "pod_level" in case.get("tags", ()):
        pod = with_empty_pod_level_resources(pod)
    others = [Pod.from_json(other) for other in given.get("otherPods", ())]
    result = admit(pod, node, others)
    info = NodeInfo(node, others)
    return {
        "admit": result.admit,
        **({} if result.admit else {"reason": result.reason, "message": result.message}),
        "allFailures": sorted(failure.message for failure in predicate_failures(pod, info)),
        "qosClass": compute_pod_qos(pod),
        "podRequests": _texts(pod_requests(pod)),
        "podLimits": _texts(pod_limits(pod)),
        "podRequestsNoOverhead": _texts(pod_requests(pod, exclude_overhead=True)),
        "podRequestsNoPodLevel": _texts(pod_requests(pod, skip_pod_level=True)),
        "podLimitsNoPodLevel": _texts(pod_limits(pod, skip_pod_level=True)),
        "nodeUsed": {
            "milliCPU": info.requested.milli_cpu,
            "memory": info.requested.memory,
            "ephemeralStorage": info.requested.ephemeral_storage,
            "pods": info.pod_count,
        },
    }


def judge(case: dict[str, Any], expected: dict[str, Any], actual: dict[str, Any]) -> Iterator[str]:
    """Equality, except that Go's map order decides which of several failed scalar resources is reported."""
    free = expected.get("scalarFailureOrderNotFixed") and {expected.get("reason"), actual.get("reason")}.isdisjoint(
        _ORDERED
    )
    expected = {key: value for key, value in expected.items() if key != "scalarFailureOrderNotFixed"}
    if free and actual.get("message") in expected["allFailures"]:
        expected["reason"], expected["message"] = actual["reason"], actual["message"]
    yield from differences(expected, actual)


def _texts(resources: Resources) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}

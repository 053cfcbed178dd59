"""The swap limit of a container.

Adapted from pkg/kubelet/kuberuntime/kuberuntime_container_linux_test.go TestGetContainerSwapBehavior (8 rows; cgroup
v1 is not simulated: 7) and TestGenerateLinuxContainerResourcesWithSwap (18 rows; 4 are about cgroup v1: 14).
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.features import DEFAULT_GATES, configured_gates
from kubesim.runtime.allocation.linux_resources import linux_container_resources
from kubesim.runtime.allocation.swap import NodeSwap, container_swap_behavior, container_swap_limit

GI = 1 << 30
NODE = NodeSwap(5 * GI, 40 * GI, "LimitedSwap")
LIMITED = "LimitedSwap"


def pod(*resources: dict[str, Any], qos: str = "", priority: int | None = None) -> Pod:
    containers = [{"name": f"c{number}", "resources": item} for number, item in enumerate(resources)]
    spec = {"containers": containers, **({} if priority is None else {"priority": priority})}
    return Pod.from_json({"metadata": {"name": "foo"}, "spec": spec, "status": {"qosClass": qos} if qos else {}})


BURSTABLE = {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}


@pytest.mark.parametrize(
    ("behavior", "qos", "resources", "expected"),
    [
        pytest.param("NoSwap", "", BURSTABLE, "NoSwap", id="NoSwap, user set NoSwap behavior"),
        pytest.param(LIMITED, "BestEffort", BURSTABLE, "NoSwap", id="NoSwap, qos is Best-Effort"),
        pytest.param(LIMITED, "Guaranteed", BURSTABLE, "NoSwap", id="NoSwap, qos is Guaranteed"),
        pytest.param(
            LIMITED,
            "Burstable",
            {"requests": {"memory": "0"}, "limits": {"memory": "0"}},
            "NoSwap",
            id="NoSwap, zero memory",
        ),
        pytest.param(
            LIMITED,
            "Burstable",
            {"requests": {"memory": "100Mi"}, "limits": {"memory": "100Mi"}},
            "NoSwap",
            id="NoSwap, memory request equal to limit",
        ),
        pytest.param(LIMITED, "Burstable", BURSTABLE, LIMITED, id="LimitedSwap, cgroup v2"),
    ],
)
def test_swap_behavior(behavior: str, qos: str, resources: dict[str, Any], expected: str) -> None:
    made = pod(resources, qos=qos)
    assert container_swap_behavior(made, made.spec.containers[0], behavior, DEFAULT_GATES) == expected


def test_without_a_swap_controller_swap_is_not_set() -> None:
    """NoSwap, swap controller unavailable; and the seven rows `Swap disabled on node`, which all expect the same."""
    made = pod(BURSTABLE)
    assert linux_container_resources(made, made.spec.containers[0]).unified == ()


ONE, TWO = {"requests": {"memory": "1Gi"}}, {"requests": {"memory": "2Gi"}}
GUARANTEED_ONE, GUARANTEED_TWO = (
    {"requests": {"memory": amount, "cpu": "1"}, "limits": {"memory": amount, "cpu": "1"}} for amount in ("1Gi", "2Gi")
)
SHARE = 5 * GI // 40


@pytest.mark.parametrize(
    ("behavior", "resources", "priority", "expected"),
    [
        pytest.param("", ({}, {}), None, (0, 0), id="With no swapBehavior - NoSwap should be the default"),
        pytest.param("NoSwap", ({}, {}), None, (0, 0), id="Best-effort QoS, cgroups v2, NoSwap"),
        # Upstream's row is a Burstable pod, whatever its name says.
        pytest.param(LIMITED, (ONE, TWO), None, (SHARE, 2 * SHARE), id="Best-effort QoS, cgroups v2, LimitedSwap"),
        pytest.param(LIMITED, ({}, {}), None, (0, 0), id="a pod without requests"),
        pytest.param(
            LIMITED, (GUARANTEED_ONE, GUARANTEED_TWO), None, (0, 0), id="Guaranteed QoS, cgroups v2, LimitedSwap"
        ),
        pytest.param(
            LIMITED,
            (ONE, {**TWO, "limits": {"memory": "2Gi"}}),
            None,
            (SHARE, 0),
            id="Burstable QoS, cgroups v2, LimitedSwap, with a guaranteed container",
        ),
        pytest.param(LIMITED, (ONE, TWO), None, (SHARE, 2 * SHARE), id="Burstable QoS, cgroups v2, LimitedSwap"),
        pytest.param(
            LIMITED,
            (ONE, {}),
            None,
            (SHARE, 0),
            id="Burstable QoS, cgroups v2, LimitedSwap, with a container with no requests",
        ),
        pytest.param(
            LIMITED,
            (ONE, TWO),
            2_000_000_000,
            (0, 0),
            id="Best-effort QoS, cgroups v2, LimitedSwap, critical pod",
        ),
    ],
)
def test_the_swap_limit_of_two_containers(
    behavior: str, resources: tuple[dict[str, Any], ...], priority: int | None, expected: tuple[int, int]
) -> None:
    made = pod(*resources, priority=priority)
    node = NodeSwap(NODE.capacity, NODE.memory, behavior)
    for container, limit in zip(made.spec.containers, expected, strict=True):
        reported = linux_container_resources(made, container, swap=node)
        assert reported.unified == (("memory.swap.max", str(limit)),)


def test_a_request_beyond_the_memory_of_the_node_gets_no_swap() -> None:
    made = pod({"requests": {"memory": "41Gi"}})
    assert container_swap_limit(made, made.spec.containers[0], NODE, DEFAULT_GATES) == 0


def test_swap_needs_its_gate() -> None:
    made = pod(ONE)
    assert container_swap_limit(made, made.spec.containers[0], NODE, configured_gates({}, "v1.12")) == 0
    assert container_swap_limit(made, made.spec.containers[0], NODE, DEFAULT_GATES) == SHARE

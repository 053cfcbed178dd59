"""A pod with its allocated resources.

Adapted from pkg/kubelet/allocation/allocation_manager_test.go TestUpdatePodFromAllocation (9 rows).
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, ResourceRequirements
from kubesim.features import configured_gates
from kubesim.runtime.allocation.allocated import PodAllocation, update_pod_from_allocation
from tests.support.allocation import amounts, container, resizable_pod

Json = dict[str, Any]
FOUR = (
    ("c1", amounts("100m", "200"), amounts("300m", "400")),
    ("c2", amounts("500m", "600"), amounts("700m", "800")),
    ("c1-restartable-init", amounts("200m", "300"), amounts("400m", "500")),
    ("c1-init", amounts("500m", "600"), amounts("700m", "800")),
)
POD_LEVEL = {"requests": amounts("1200m", "1700"), "limits": amounts("2", "2500")}
MORE_POD_LEVEL = {"requests": amounts("1500m", "1700"), "limits": amounts("2200m", "2500")}


def four(cpus: dict[str, str] | None = None, without: tuple[str, ...] = (), resources: Json | None = None) -> Pod:
    made = []
    for name, requests, limits in FOUR:
        requests = {**requests, "cpu": (cpus or {}).get(name, requests["cpu"])}
        more: Json = {"restartPolicy": "Always"} if "restartable" in name else {}
        asked = () if name in without else (requests, limits)
        made.append(container(name, *asked, **more))
    return resizable_pod("a", *made[:2], init=tuple(made[2:]), resources=resources)


RESIZED = {"c1": "200m", "c1-restartable-init": "300m", "c1-init": "300m"}


def allocation(of: Pod, pod_level: Json | None = None, only: tuple[str, ...] | None = None) -> PodAllocation:
    containers = {
        one.name: one.resources
        for one in (*of.spec.containers, *of.spec.init_containers)
        if only is None or one.name in only
    }
    level = None if pod_level is None else ResourceRequirements.from_json(pod_level)
    return PodAllocation(containers, level)


@pytest.mark.parametrize(
    ("asked", "allocated", "expected", "pod_level"),
    [
        pytest.param(four(), allocation(four()), None, False, id="steady state"),
        pytest.param(four(), allocation(four(), only=()), None, False, id="no allocations"),
        pytest.param(four(), allocation(four(), only=("c2",)), None, False, id="missing container allocation"),
        pytest.param(four(), allocation(four(RESIZED)), four(RESIZED), False, id="resized container"),
        pytest.param(
            four(),
            allocation(four(RESIZED), MORE_POD_LEVEL),
            four(RESIZED, resources=MORE_POD_LEVEL),
            True,
            id="resized pod-level allocation",
        ),
        pytest.param(
            four(resources=POD_LEVEL),
            allocation(four(RESIZED), MORE_POD_LEVEL),
            four(RESIZED, resources=MORE_POD_LEVEL),
            True,
            id="resized pod-level resources and allocation",
        ),
        pytest.param(
            four(without=("c1", "c1-restartable-init")),
            allocation(four(RESIZED), MORE_POD_LEVEL),
            four(RESIZED, resources=MORE_POD_LEVEL),
            True,
            id="resized pod-level resources and no container resources",
        ),
        pytest.param(
            four(resources=POD_LEVEL),
            allocation(four(), POD_LEVEL, only=()),
            None,
            True,
            id="pod-level resources with overhead, checkpoint matches spec (no overhead stored)",
        ),
        pytest.param(
            four(resources=POD_LEVEL),
            allocation(four()),
            None,
            False,
            id="resized pod-level resources with feature gate disabled",
        ),
    ],
)
def test_a_pod_with_its_allocation(asked: Pod, allocated: PodAllocation, expected: Pod | None, pod_level: bool) -> None:
    gates = configured_gates({"InPlacePodLevelResourcesVerticalScaling": pod_level})
    found = update_pod_from_allocation(asked, allocated, gates)
    if expected is None:
        assert found is asked
    else:
        assert found.to_json() == expected.to_json()

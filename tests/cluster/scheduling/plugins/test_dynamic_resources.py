"""DynamicResources: nodes with devices for a pod's claims, allocated devices, and whole scenarios.

Adapted from parts of: plugins/dynamicresources/dynamicresources_test.go TestPlugin;
dynamic-resource-allocation/structured allocator tests.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.workloads.resource_claims import FINALIZER
from kubesim.cluster.scheduling.framework.cycle import prioritize_nodes
from kubesim.cluster.scheduling.framework.plugin import CycleState
from kubesim.cluster.scheduling.framework.status import CycleError, Status
from kubesim.cluster.scheduling.plugins.devices.dynamic_resources import (
    NAME,
    PLUGIN,
    has_all_claims,
    pod_claim_allocations,
    post_filter,
)
from tests.support.cluster.controlled import ControlledCluster
from tests.support.cluster.devices import (
    DRIVER,
    allocated,
    claim,
    device_class,
    objects,
    request,
    resource_slice,
)
from tests.support.cluster.scheduled import cycle_of, node, pod, pod_object, scheduled_cluster

Json = dict[str, Any]
NODES = [node("n1", labels={"zone": "a"}), node("n2", labels={"zone": "b"})]
CAPACITY = {"memory": {"value": "40Gi"}}
NOT_SIMULATED = {
    "allowMultipleAllocations": True,
    "consumesCounters": [{"counterSet": "lanes", "counters": {"all": {"value": "1"}}}],
    "bindingConditions": ["example.com/attached"],
    "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "1"}},
}


def using(*claims: str, **spec: Any) -> Json:
    named = [{"name": name, "resourceClaimName": name} for name in claims]
    return pod("web", resourceClaims=named, **spec)


def filtered(cycle: CycleState) -> list[str]:
    """The rejection of each node, or of all."""
    assert PLUGIN.pre_filter is not None
    assert PLUGIN.filter is not None
    state = PLUGIN.pre_filter(cycle)
    if isinstance(state, Status):
        return [state.message]
    if state is None:
        return []
    cycle.states[NAME] = state
    found = [PLUGIN.filter(cycle, each) for each in cycle.snapshot.nodes.values()]
    return ["" if status is None else status.message for status in found]


def cycle(*manifests: Json, claims: tuple[str, ...] = ("claim",)) -> CycleState:
    return cycle_of(pod_object(using(*claims)), NODES, objects=objects(*manifests))


def devices(cycle: CycleState, node: str = "n1") -> list[list[str]]:
    """The devices allocated to each claim on a node."""
    found = []
    for _, allocation in pod_claim_allocations(cycle, node):
        assert allocation is not None
        found.append([result["device"] for result in allocation["devices"]["results"]])
    return found


NONE = "cannot allocate all claims"


@pytest.mark.parametrize(
    ("manifests", "answers", "chosen"),
    [
        pytest.param([claim(), resource_slice("n1", "a", "b")], ["", NONE], [["a"]], id="one node has devices"),
        pytest.param([claim()], [NONE, NONE], None, id="no devices at all"),
        pytest.param(
            [claim("claim", request(count=2)), resource_slice("n1", "a", "b", "c")], ["", NONE], [["a", "b"]], id="two"
        ),
        pytest.param(
            [claim("claim", request(count=2)), resource_slice("n1", "a")], [NONE, NONE], None, id="two of one"
        ),
        pytest.param(
            [claim("claim", request(allocationMode="All")), resource_slice("n1", "a", "b")],
            ["", NONE],
            [["a", "b"]],
            id="all",
        ),
        pytest.param(
            [claim("claim", request(allocationMode="All")), allocated("other", "b"), resource_slice("n1", "a", "b")],
            [NONE, NONE],
            None,
            id="all, but one is in use",
        ),
        pytest.param(
            [claim(), allocated("other", "a"), resource_slice("n1", "a", "b")], ["", NONE], [["b"]], id="one in use"
        ),
        pytest.param(
            [claim(), allocated("other", "a", adminAccess=True), resource_slice("n1", "a")],
            ["", NONE],
            [["a"]],
            id="admin access of others does not count",
        ),
        pytest.param(
            [
                claim("claim", request("any"), request("big", expression=f'device.attributes["{DRIVER}"].big')),
                resource_slice(
                    "n1",
                    {"name": "a", "attributes": {"big": {"bool": True}}},
                    {"name": "b", "attributes": {"big": {"bool": False}}},
                ),
            ],
            ["", NONE],
            [["b", "a"]],
            id="a device is released for a request that can use no other",
        ),
        pytest.param(
            [
                claim(
                    "claim", request(expression=f'device.capacity["{DRIVER}"].memory.compareTo(quantity("30Gi")) >= 0')
                ),
                resource_slice("n1", "small", {"name": "large", "capacity": CAPACITY}, driver="other.example.com"),
                resource_slice("n2", {"name": "large", "capacity": CAPACITY}),
            ],
            [NONE, ""],
            None,
            id="by class, then by selector",
        ),
        pytest.param(
            [claim(), resource_slice("n1", "a", allNodes=True, pool="net")], ["", ""], [["a"]], id="network attached"
        ),
        pytest.param(
            [
                claim(),
                resource_slice(
                    "n1",
                    "a",
                    pool="zone-b",
                    nodeSelector={
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
                        ]
                    },
                ),
            ],
            [NONE, ""],
            None,
            id="node selector of a slice",
        ),
        pytest.param(
            [claim(), resource_slice("n1", "a", of_pool={"resourceSliceCount": 2})],
            [NONE, NONE],
            None,
            id="incomplete pool",
        ),
        pytest.param(
            [claim(), resource_slice("n1", "a", "a")],
            ["invalid resource pools were encountered", NONE],
            None,
            id="invalid pool",
        ),
        pytest.param(
            [
                claim(),
                resource_slice("n1", "old"),
                resource_slice("n1", "new", number=1, of_pool={"generation": 2}),
            ],
            ["", NONE],
            [["new"]],
            id="newer generation",
        ),
        pytest.param(
            [
                claim(),
                resource_slice("n1", {"name": "a", "taints": [{"key": "broken", "effect": "NoSchedule"}]}, "b"),
            ],
            ["", NONE],
            [["b"]],
            id="tainted device",
        ),
        pytest.param(
            [
                claim("claim", request(tolerations=[{"key": "broken", "operator": "Exists"}])),
                resource_slice("n1", {"name": "a", "taints": [{"key": "broken", "effect": "NoExecute"}]}),
            ],
            ["", NONE],
            [["a"]],
            id="tolerated taint",
        ),
        pytest.param(
            [
                claim("claim", request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/numa"}]),
                resource_slice(
                    "n1",
                    {"name": "a", "attributes": {"numa": {"int": 0}}},
                    {"name": "b", "attributes": {"numa": {"int": 1}}},
                    {"name": "c", "attributes": {"numa": {"int": 1}}},
                ),
            ],
            ["", NONE],
            [["b", "c"]],
            id="the same value of an attribute",
        ),
        pytest.param(
            [
                claim("claim", request(count=2), constraints=[{"distinctAttribute": f"{DRIVER}/numa"}]),
                resource_slice(
                    "n1",
                    {"name": "a", "attributes": {"numa": {"int": 1}}},
                    {"name": "b", "attributes": {"numa": {"int": 1}}},
                    {"name": "c", "attributes": {"numa": {"int": 0}}},
                ),
            ],
            ["", NONE],
            [["a", "c"]],
            id="different values of an attribute",
        ),
        pytest.param(
            [claim("claim", request(device_class="unknown"))],
            ["request gpu: device class unknown does not exist"],
            None,
            id="device class does not exist",
        ),
        pytest.param(
            [allocated("claim", "a", node="n2")],
            ["resourceclaim not available on the node", ""],
            None,
            id="allocated for another node",
        ),
    ],
)
def test_filter(manifests: list[Json], answers: list[str], chosen: list[list[str]] | None) -> None:
    made = cycle(device_class(), *manifests)
    assert filtered(made) == answers
    if chosen is not None:
        assert devices(made) == chosen


def test_two_claims_do_not_get_the_same_device() -> None:
    made = cycle(device_class(), claim("one"), claim("two"), resource_slice("n1", "a", "b"), claims=("one", "two"))
    assert filtered(made) == ["", NONE]
    assert devices(made) == [["a"], ["b"]]


def test_too_few_devices_are_detected_without_trying_every_order() -> None:
    names = [f"d{number}" for number in range(30)]
    made = cycle(device_class(), claim("claim", request(count=31)), resource_slice("n1", *names))
    assert filtered(made) == [NONE, NONE]


@pytest.mark.parametrize(
    ("manifests", "problem"),
    [
        pytest.param(
            [
                claim("claim", request(expression=f'device.attributes["{DRIVER}"].model == "x"')),
                resource_slice("n1", "a"),
            ],
            "claim default/claim: selector #0: CEL runtime error: no such key: model",
            id="an attribute that a device does not have",
        ),
        pytest.param(
            [claim("claim", request(count=33)), resource_slice("n1", "a")],
            "claim default/claim: number of requested devices 33 exceeds the claim limit of 32",
            id="too many devices",
        ),
        pytest.param(
            [
                claim("claim", request(allocationMode="All")),
                resource_slice("n1", "a", of_pool={"resourceSliceCount": 2}),
            ],
            f"claim default/claim, request gpu: asks for all devices, but resource pool {DRIVER}/n1 is currently being "
            "updated",
            id="all of an incomplete pool",
        ),
        pytest.param(
            [claim("claim", request(capacity={"requests": {"memory": "1Gi"}})), resource_slice("n1", "a")],
            "claim default/claim, request gpu: capacity is not simulated: remove it",
            id="capacity",
        ),
        *(
            pytest.param(
                [claim(), resource_slice("n1", {"name": "a", name: value})],
                f"device {DRIVER}/n1/a: {name} is not simulated: remove it from the ResourceSlice",
                id=name,
            )
            for name, value in NOT_SIMULATED.items()
        ),
    ],
)
def test_errors(manifests: list[Json], problem: str) -> None:
    with pytest.raises(CycleError) as caught:
        filtered(cycle(device_class(), *manifests))
    assert str(caught.value) == f'running "DynamicResources" filter plugin: {problem}'


def test_the_allocation_has_a_node_selector_and_configuration() -> None:
    opaque = {"opaque": {"driver": DRIVER, "parameters": {"mode": "fast"}}}
    made = cycle(
        device_class(config=[opaque]),
        claim(
            "claim",
            request("one"),
            request("two"),
            config=[{"requests": ["two"], **opaque}, {"requests": ["x"], **opaque}],
        ),
        resource_slice("n1", "a", "b"),
    )
    assert filtered(made) == ["", NONE]
    ((_, allocation),) = pod_claim_allocations(made, "n1")
    result = {"driver": DRIVER, "pool": "n1"}
    assert allocation == {
        "devices": {
            "results": [{"request": "one", **result, "device": "a"}, {"request": "two", **result, "device": "b"}],
            "config": [
                {"source": "FromClass", "requests": ["one", "two"], **opaque},
                {"source": "FromClaim", "requests": ["two"], **opaque},
            ],
        },
        "nodeSelector": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
        },
    }


def test_a_device_that_binds_to_a_node_is_limited_to_it() -> None:
    network = resource_slice("net", {"name": "a", "bindsToNode": True}, allNodes=True)
    made = cycle(device_class(), claim(), network)
    assert filtered(made) == ["", ""]
    ((_, allocation),) = pod_claim_allocations(made, "n2")
    named = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    assert (allocation or {})["nodeSelector"] == {"nodeSelectorTerms": [{"matchFields": [named]}]}


def test_the_first_alternative_that_fits_is_used_and_scored() -> None:
    alternatives = [
        {"name": name, "deviceClassName": name, "allocationMode": "ExactCount", "count": 1} for name in ("big", "small")
    ]
    made = cycle(
        device_class("big", 'device.driver == "big.example.com"'),
        device_class("small", 'device.driver == "small.example.com"'),
        claim("claim", {"name": "gpu", "firstAvailable": alternatives}),
        resource_slice("n1", "s", driver="small.example.com"),
        resource_slice("n2", "s", driver="small.example.com"),
        resource_slice("n2", "b", driver="big.example.com"),
    )
    assert filtered(made) == ["", ""]
    results = {name: pod_claim_allocations(made, name)[0][1] for name in ("n1", "n2")}
    requests = {name: result["devices"]["results"][0]["request"] for name, result in results.items() if result}
    assert requests == {"n1": "gpu/small", "n2": "gpu/big"}
    scores = prioritize_nodes(made, list(made.snapshot.nodes.values()))
    assert scores["n2"] > scores["n1"]


def test_post_filter_deallocates_a_claim_that_only_this_pod_uses() -> None:
    made = cycle(allocated("claim", "a", node="gone"))
    assert filtered(made) == ["resourceclaim not available on the node"] * 2
    message, found = post_filter(made)
    assert message == "deallocation of ResourceClaim completed"
    assert found is not None
    made = cycle(device_class(), claim())
    assert filtered(made) == [NONE, NONE]
    assert post_filter(made) == ("still not schedulable", None)
    assert post_filter(cycle_of(pod_object(pod("plain")), NODES))[0] == "no new claims to deallocate"


@pytest.mark.parametrize(
    ("manifests", "ready"),
    [([], False), ([claim()], True), ([{**claim(), "metadata": {"name": "claim", "namespace": "other"}}], False)],
)
def test_pre_enqueue(manifests: list[Json], ready: bool) -> None:
    made = cycle(*manifests)
    assert has_all_claims(made.pod, made.listers) == ready


# -- stories ----------------------------------------------------------------------------------------------------------


def test_a_pod_is_gated_until_its_claim_exists() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(device_class())
        cluster.create(resource_slice("n1", "a"))
        cluster.create(using("claim"))
        await cluster.wait(600)
        web = cluster.get("Pod", "web")
        assert isinstance(web, Pod)
        assert (web.spec.node_name, web.status.conditions, cluster.events("FailedScheduling")) == ("", (), [])
        cluster.create(claim())
        await cluster.wait(1)
        assert cluster.get("Pod", "web").spec.node_name == "n1"
        found = cluster.get("ResourceClaim", "claim")
        status = found.extra["status"]
        assert [each["name"] for each in status["reservedFor"]] == ["web"]
        assert "allocationTimestamp" in status["allocation"]
        assert found.metadata.finalizers == (FINALIZER,)

    scheduled_cluster(story, *NODES)


def test_a_pod_gets_a_device_that_another_releases() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for manifest in (device_class(), resource_slice("n1", "a"), claim("one"), claim("two")):
            cluster.create(manifest)
        first, second = using("one"), using("two")
        cluster.create({**first, "metadata": {"name": "first"}})
        await cluster.wait(1)
        cluster.create({**second, "metadata": {"name": "second"}})
        await cluster.wait(1)
        (event,) = cluster.events("FailedScheduling")
        assert event.message == (
            "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption: 0/2 nodes are "
            "available: 2 Preemption is not helpful for scheduling."
        )
        cluster.set_phase(cluster.get("Pod", "first"), "Succeeded")
        await cluster.wait(5)
        assert cluster.get("Pod", "second").spec.node_name == "n1"

    scheduled_cluster(story, *NODES)


def test_two_pods_with_a_shared_claim_share_the_node() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for manifest in (device_class(), resource_slice("n2", "a"), claim()):
            cluster.create(manifest)
        for name in ("first", "second"):
            cluster.create({**using("claim"), "metadata": {"name": name}})
        await cluster.wait(1)
        assert [each.spec.node_name for each in cluster.pods()] == ["n2", "n2"]
        reserved = cluster.get("ResourceClaim", "claim").extra["status"]["reservedFor"]
        assert [each["name"] for each in reserved] == ["first", "second"]
        cluster.set_phase(cluster.get("Pod", "first"), "Succeeded")
        await cluster.wait(1)
        reserved = cluster.get("ResourceClaim", "claim").extra["status"]["reservedFor"]
        assert [each["name"] for each in reserved] == ["second"]

    scheduled_cluster(story, *NODES)

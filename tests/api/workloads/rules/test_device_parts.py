"""Validation of devices, counters, names and configurations of resource.k8s.io.

Adapted from upstream's pkg/apis/resource/validation: validation_resourceslice_test.go,
validation_resourceclaim_test.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.workloads.rules.device_kinds import parts
from kubesim.api.workloads.rules.kind_rules import rules_of
from tests.support.cluster.devices import claim, device_class, resource_slice

Json = dict[str, Any]
DEVICE = "spec.devices[0]"
ONE_OF = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
COUNTERS = {"counters": {"memory": {"value": "1Gi"}}}
SHOWN_TERM = '{"MatchExpressions":null,"MatchFields":[{"Key":"metadata.name","Operator":"In","Values":["n1"]}]}'
TERM = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}


def complaints(kind: str, obj: Json, old: Json | None = None) -> list[str]:
    rules, errors = rules_of(kind), Errors()
    assert rules is not None
    if old is None:
        rules.validate(errors, obj)
    else:
        rules.validate_update(errors, obj, old)
    return [str(error) for error in errors]


def of_device(**fields: Any) -> Json:
    return resource_slice("n1", {"name": "a", **fields})


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        pytest.param(
            of_device(attributes={f"a{n}": {"int": n} for n in range(33)}),
            [f"{DEVICE}: Invalid value: 33: the total number of attributes and capacities must not exceed 32"],
            id="too many attributes",
        ),
        pytest.param(
            of_device(attributes={"a": {"string": "x" * 65}, "b": {"version": "1.0.0"}}),
            [f"{DEVICE}.attributes[a].string: Too long: may not be more than 64 bytes"],
            id="a long attribute",
        ),
        pytest.param(
            of_device(capacity={"memory": {"value": "1Gi", "requestPolicy": {"default": "1Gi"}}}),
            [f"{DEVICE}.capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
            id="a policy for a device that is not shared",
        ),
        pytest.param(
            of_device(attributes={"/a": {"int": 1}, "a.b/": {"int": 1}}),
            [
                f'{DEVICE}.attributes: Invalid value: "": the domain must not be empty',
                f'{DEVICE}.attributes: Invalid value: "": the name must not be empty',
            ],
            id="half a qualified name",
        ),
        pytest.param(
            of_device(attributes={"x" * 33: {"int": 1}}),
            [f"{DEVICE}.attributes: Too long: may not be more than 32 bytes"],
            id="a long name",
        ),
        pytest.param(
            of_device(taints=[{"key": "a", "value": "b"}]),
            [f"{DEVICE}.taints[0].effect: Required value"],
            id="a taint without an effect",
        ),
        pytest.param(
            of_device(consumesCounters=[{"counterSet": "gpu"}]),
            [f"{DEVICE}.consumesCounters[0].counters: Required value"],
            id="no counters",
        ),
        pytest.param(
            of_device(consumesCounters=[dict(COUNTERS)]),
            [f"{DEVICE}.consumesCounters[0].counterSet: Required value"],
            id="no counter set",
        ),
        pytest.param(
            of_device(bindingConditions=["a", "a"], bindingFailureConditions=["a"]),
            [
                f'{DEVICE}.bindingConditions[1]: Duplicate value: "a"',
                (
                    f'{DEVICE}.bindingFailureConditions[0]: Invalid value: "a": '
                    "bindingFailureConditions must not overlap with bindingConditions"
                ),
            ],
            id="binding conditions that contradict",
        ),
        pytest.param(
            of_device(bindingFailureConditions=["a"]),
            [
                (
                    f"{DEVICE}.bindingConditions: Invalid value: null: "
                    "bindingConditions are required to use bindingFailureConditions"
                ),
            ],
            id="failure conditions alone",
        ),
        pytest.param(
            resource_slice("n1", "a", perDeviceNodeSelection=True),
            [f"{DEVICE}: Required value: {ONE_OF}"],
            id="a device without a node",
        ),
        pytest.param(
            resource_slice("n1", {"name": "a", "allNodes": True, "nodeName": "n1"}, perDeviceNodeSelection=True),
            [f'{DEVICE}: Invalid value: "{{`nodeName`, `allNodes`}}": {ONE_OF}'],
            id="a device with two",
        ),
        pytest.param(
            resource_slice("n1", {"name": "a", "nodeName": ""}, perDeviceNodeSelection=True),
            [
                f'{DEVICE}.nodeName: Invalid value: "": must not be empty',
                f"{DEVICE}: Required value: {ONE_OF}",
            ],
            id="a device with an empty one",
        ),
        pytest.param(
            resource_slice("n1", "a", perDeviceNodeSelection=False),
            [
                "spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
                (
                    "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                    "`perDeviceNodeSelection` is required"
                ),
            ],
            id="no selection by device",
        ),
        pytest.param(
            resource_slice("n1", nodeSelector={"nodeSelectorTerms": [TERM, TERM]}),
            [
                (
                    f"spec.nodeSelector.nodeSelectorTerms: Invalid value: [{SHOWN_TERM},{SHOWN_TERM}]: "
                    "must have exactly one node selector term"
                ),
            ],
            id="two node selector terms",
        ),
        pytest.param(
            resource_slice("n1", "a", sharedCounters=[{"name": "gpu", **COUNTERS}]),
            ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
            id="devices and counters",
        ),
    ],
)
def test_a_slice(obj: Json, wanted: list[str]) -> None:
    assert complaints("ResourceSlice", obj) == wanted


def test_counters_are_limited() -> None:
    many = {f"c{n}": {"value": "1"} for n in range(33)}
    obj = of_device(consumesCounters=[{"counterSet": "gpu", "counters": many}])
    assert complaints("ResourceSlice", obj) == [
        f"{DEVICE}.consumesCounters[0].counters: Too many: 33: must have at most 32 items"
    ]


def test_if_only_the_node_of_a_slice_changes() -> None:
    old, new = resource_slice("n1", "a", pool="p"), resource_slice("n2", "a", pool="p")
    assert complaints("ResourceSlice", new, old) == ['spec.nodeName: Invalid value: "n2": field is immutable']


@pytest.mark.parametrize(
    ("check", "name", "wanted"),
    [
        (parts.validate_driver_name, "", ["f: Required value"]),
        (parts.validate_driver_name, "a" * 64, ["f: Too long: may not be more than 63 bytes"]),
        (parts.validate_driver_name, "A.b", []),
        (parts.validate_pool_name, "", ["f: Required value"]),
        (parts.validate_pool_name, "/".join(["a" * 63] * 4), ["f: Too long: may not be more than 253 bytes"]),
        (parts.validate_qualified_name, "a/b/c", []),
    ],
)
def test_names(check: Any, name: str, wanted: list[str]) -> None:
    errors = Errors()
    check(errors, name, "f")
    assert [str(error) for error in errors] == wanted


def test_values_in_messages_include_all_fields() -> None:
    shown = parts.printed("DeviceCapacity", {"value": "1Gi"})
    assert str(shown) == '{"Value":"1Gi","RequestPolicy":null}'
    quantities = parts.printed("map[string]resource.Quantity", {"b": "2", "a": "1"})
    assert str(quantities) == '{"a":"1","b":"2"}'


def test_the_configuration_of_an_allocation() -> None:
    config: list[Json] = [
        {"opaque": {"driver": "a.b", "parameters": {}}},
        {"source": "Elsewhere", "requests": ["none"], "opaque": {"driver": "a.b", "parameters": {}}},
    ]
    old, new = claim(), claim(status={"allocation": {"devices": {"results": [], "config": config}}})
    rules, errors = rules_of("ResourceClaim"), Errors()
    assert rules is not None
    rules.validate_status(errors, new, old)
    path = "status.allocation.devices.config"
    assert [str(error) for error in errors] == [
        f"{path}[0].source: Required value",
        f'{path}[1].source: Unsupported value: "Elsewhere": supported values: "FromClaim", "FromClass"',
        (
            f'{path}[1].requests[0]: Invalid value: "none": must be the name of a request in the claim or the name '
            "of a request and a subrequest separated by '/'"
        ),
    ]


def test_a_class_of_devices_with_a_long_driver() -> None:
    opaque = {"opaque": {"driver": "", "parameters": {}}}
    assert complaints("DeviceClass", device_class(config=[opaque])) == ["spec.config[0].opaque.driver: Required value"]

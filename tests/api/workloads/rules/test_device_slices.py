"""Validation of device classes and resource slices.

Adapted from upstream's pkg/apis/resource/validation: validation_deviceclass_test.go and
validation_resourceslice_test.go in part.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.workloads.rules.kind_rules import rules_of
from tests.support.cluster.devices import device_class, resource_slice

Json = dict[str, Any]


def complaints(kind: str, obj: Json) -> list[str]:
    rules = rules_of(kind)
    assert rules is not None
    errors = Errors()
    rules.validate(errors, deepcopy(obj))
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        pytest.param(device_class(), [], id="good-class"),
        pytest.param(
            device_class(extendedResourceName="not-extended"),
            [
                'spec.extendedResourceName: Invalid value: "not-extended": must be a valid extended resource name',
            ],
            id="extended resource name",
        ),
        pytest.param(device_class(config=[{}]), ["spec.config[0].opaque: Required value"], id="configuration"),
        pytest.param(
            device_class(expression="", selectors=[{}]), ["spec.selectors[0].cel: Required value"], id="empty selector"
        ),
    ],
)
def test_device_class(obj: Json, wanted: list[str]) -> None:
    assert complaints("DeviceClass", obj) == wanted


ONE_OF_NODES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        pytest.param(resource_slice("n1", "a", "b"), [], id="good"),
        pytest.param(resource_slice("n1", "a", "a"), ['spec.devices[1]: Duplicate value: "a"'], id="duplicate-devices"),
        pytest.param(
            resource_slice("n1", "a", of_pool={"generation": -1, "resourceSliceCount": 0}),
            [
                "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
                "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
            ],
            id="bad-pool",
        ),
        pytest.param(
            resource_slice("n1", "a", allNodes=True, nodeName="n1"),
            [f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {ONE_OF_NODES}, but multiple fields are set'],
            id="bad-node-selection",
        ),
        pytest.param(
            resource_slice("n1", "a", allNodes=False),
            [
                "spec.allNodes: Invalid value: false: must be either unset or set to true",
                f"spec: Required value: {ONE_OF_NODES}",
            ],
            id="bad-node-selection-all-nodes-false",
        ),
        pytest.param(
            resource_slice("n1", *(f"d{n}" for n in range(129))),
            ["spec.devices: Too many: 129: must have at most 128 items"],
            id="too-many-devices",
        ),
        pytest.param(
            resource_slice("n1", {"name": "a", "attributes": {"v": {"version": "1.0"}, "none": {}}}),
            [
                (
                    'spec.devices[0].attributes[v].version: Invalid value: "1.0": must be a string compatible with '
                    "semver.org "
                    "spec 2.0.0"
                ),
                'spec.devices[0].attributes[none]: Invalid value: "": exactly one value must be specified',
            ],
            id="bad-attribute",
        ),
        pytest.param(
            resource_slice("n1", {"name": "a", "taints": [{"key": "x", "effect": "some-other"}]}),
            [
                (
                    'spec.devices[0].taints[0].effect: Unsupported value: "some-other": supported values: "NoExecute", '
                    '"NoSchedule", "None"'
                )
            ],
            id="taints",
        ),
        pytest.param(
            resource_slice("n1", {"name": "a", "allNodes": True}),
            [
                (
                    "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and "
                    "`allNodes` can only be set if "
                    ""
                    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
                )
            ],
            id="device nodes without perDeviceNodeSelection",
        ),
    ],
)
def test_resource_slice(obj: Json, wanted: list[str]) -> None:
    assert complaints("ResourceSlice", obj) == wanted


def test_driver_pool_and_node_of_a_slice_are_immutable() -> None:
    rules = rules_of("ResourceSlice")
    assert rules is not None
    errors = Errors()
    rules.validate_update(errors, resource_slice("n1", "a", driver="x", pool="p"), resource_slice("n2", "a"))
    assert [error.field for error in errors] == ["spec.pool.name", "spec.driver", "spec.nodeName"]

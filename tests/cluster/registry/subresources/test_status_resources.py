"""Validation of resources in a container status.

Adapted from pkg/apis/core/validation/validation_test.go: TestValidateContainerStatusAllocatedResourcesStatus (12 rows),
TestValidateContainerStatusNoAllocatedResourcesStatus (3 statuses), TestValidateNodeAllocatableResourceClaimStatus (10
rows); all of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.cluster.registry.subresources.status_resources import (
    validate_allocated_resources,
    validate_claim_statuses,
    validate_no_allocated_resources,
)

Json = dict[str, Any]
DEVICE = "test.device/test"
PATH = "spec.containers"


def container(name: str = "container-1", **resources: Any) -> Json:
    return {"name": name, "resources": resources or {"requests": {DEVICE: "1"}}}


def allocated(name: str = DEVICE, *health: Json) -> Json:
    return {"name": name, "resources": list(health)}


def healthy(identifier: str = "resource-1", health: str = "Healthy", **more: Any) -> Json:
    return {"resourceID": identifier, "health": health, **more}


def claimed(name: str, request: str = "") -> Json:
    return {"claims": [{"name": name, "request": request} if request else {"name": name}]}


FIRST = f"{PATH}[0].allocatedResourcesStatus[0]"
DEVICE_NAME = healthy("driver/pool/device-name")
NO_CLAIM = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
    "'claim:<claimName>' if request is empty"
)


@pytest.mark.parametrize(
    ("spec", "resources", "problem"),
    [
        pytest.param(container(), [allocated(DEVICE, healthy())], "", id="basic correct status"),
        pytest.param(container("container-2"), [allocated(DEVICE, healthy())], "", id="ignoring the missing container"),
        pytest.param(container("container-2"), None, "", id="allow nil"),
        pytest.param(
            container("container-2"),
            [allocated(DEVICE, healthy(), healthy(health="Unhealthy"))],
            f'{FIRST}.resources[1].resourceID: Duplicate value: "resource-1"',
            id="don't allow non-unique IDs",
        ),
        pytest.param(
            container(),
            [allocated(DEVICE, healthy()), allocated("test.device/test2")],
            f'{PATH}[0].allocatedResourcesStatus[1].name: Invalid value: "test.device/test2": must match one of the '
            "container's resource requests",
            id="don't allow resources that are not in spec",
        ),
        pytest.param(
            container(**claimed("claim.name", "request.name")),
            [allocated("claim:claim.name/request.name", DEVICE_NAME)],
            "",
            id="allow claims and request that are in spec",
        ),
        pytest.param(
            container(**claimed("claim.name")),
            [allocated("claim:claim.name", DEVICE_NAME)],
            "",
            id="allow claims that are in spec without the request",
        ),
        pytest.param(
            container(**claimed("other-claim.name"), requests={"claim.name": "1"}),
            [allocated("claim:claim.name", DEVICE_NAME)],
            f'{FIRST}.name: Invalid value: "claim:claim.name": {NO_CLAIM}',
            id="don't allow claims that are not in spec",
        ),
        pytest.param(
            container(),
            [allocated(DEVICE, healthy(health="invalid-health-value"))],
            f'{FIRST}.resources[0].health: Unsupported value: "invalid-health-value": supported values: "Healthy", '
            '"Unhealthy", "Unknown"',
            id="don't allow health status outside the known values",
        ),
        pytest.param(
            container(),
            [allocated(DEVICE, healthy(message="\0" * 1025))],
            f"{FIRST}.resources[0].message: Too long: may not be more than 1024 bytes",
            id="don't allow message longer than max length",
        ),
        pytest.param(
            container(),
            [allocated(DEVICE, healthy(message="\0" * 1024))],
            "",
            id="allow message at exactly max length",
        ),
        pytest.param(
            container(),
            [allocated(DEVICE, healthy(message=""))],
            f"{FIRST}.resources[0].message: Required value: must be non-empty if specified",
            id="don't allow empty message",
        ),
    ],
)
def test_allocated_resources(spec: Json, resources: list[Json] | None, problem: str) -> None:
    errors = Errors()
    status = {"name": "container-1", **({} if resources is None else {"allocatedResourcesStatus": resources})}
    validate_allocated_resources(errors, [status], PATH, [spec])
    assert [str(error) for error in errors] == ([problem] if problem else [])


def test_ephemeral_containers_have_no_resources() -> None:
    errors = Errors()
    statuses: list[Json] = [
        {"name": "container-1"},
        {"name": "container-2", "allocatedResourcesStatus": [{"name": DEVICE}]},
        {"name": "container-3", "allocatedResourcesStatus": [allocated(DEVICE, healthy())]},
    ]
    validate_no_allocated_resources(errors, statuses, PATH)
    assert [str(error) for error in errors] == [
        f"{PATH}[{n}].allocatedResourcesStatus: Forbidden: must not be specified in container status" for n in (1, 2)
    ]


def node_claim(name: str = "my-claim1", **changes: Any) -> Json:
    return {"resourceClaimName": name, "containers": ["c1"], "resources": {"cpu": "1"}, **changes}


ONE = [{"name": "claim1", "resourceClaimName": "my-claim1"}]
TWO = [*ONE, {"name": "claim2", "resourceClaimName": "my-claim2"}]
FOO = '"example.com/foo": must be a node allocatable resource name'
CLAIM = "status.nodeAllocatableResourceClaimStatuses[0]"


@pytest.mark.parametrize(
    ("references", "claims", "problems"),
    [
        pytest.param(
            ONE,
            [node_claim(resources={"cpu": "1", "memory": "1Gi"})],
            (),
            id="Valid NodeAllocatableResourceClaimStatus",
        ),
        pytest.param(
            TWO,
            [node_claim(), node_claim("my-claim2", resources={"memory": "2Gi"})],
            (),
            id="Valid Multiple NodeAllocatableResourceClaimStatus",
        ),
        pytest.param(
            ONE,
            [node_claim(resources={"example.com/foo": "1"})],
            (f"{CLAIM}.resources[example.com/foo]: Invalid value: {FOO}",),
            id="Invalid Resource Name",
        ),
        pytest.param(
            ONE,
            [node_claim(resources={"cpu": "-1"})],
            (f'{CLAIM}.resources[cpu]: Invalid value: "-1": must be non-negative',),
            id="Negative Quantity",
        ),
        pytest.param(
            ONE,
            [node_claim(containers=[])],
            (f"{CLAIM}.containers: Required value: must not be empty",),
            id="Empty containers list",
        ),
        pytest.param(
            ONE,
            [node_claim("")],
            (
                f"{CLAIM}.resourceClaimName: Required value: must not be empty",
                f'{CLAIM}.resourceClaimName: Invalid value: "": no mapping found in pod reference',
            ),
            id="Missing ResourceClaimName",
        ),
        pytest.param(
            ONE,
            [node_claim(resources={})],
            (f"{CLAIM}.resources: Required value: must not be empty",),
            id="Empty Resources",
        ),
        pytest.param(ONE, [node_claim()], (), id="Valid ResourceClaimName from PodSpec"),
        pytest.param(
            ONE,
            [node_claim("non-existent-claim")],
            (f'{CLAIM}.resourceClaimName: Invalid value: "non-existent-claim": no mapping found in pod reference',),
            id="Invalid ResourceClaimName not found",
        ),
    ],
)
def test_node_allocatable_claims(references: list[Json], claims: list[Json], problems: tuple[str, ...]) -> None:
    errors = Errors()
    validate_claim_statuses(errors, {"nodeAllocatableResourceClaimStatuses": claims}, {"resourceClaims": references})
    assert tuple(str(error) for error in errors) == problems


def test_a_generated_node_allocatable_claim() -> None:
    """Valid ResourceClaimName from PodStatus"""
    errors = Errors()
    status = {
        "resourceClaimStatuses": [{"name": "claim1", "resourceClaimName": "generated-claim1"}],
        "nodeAllocatableResourceClaimStatuses": [node_claim("generated-claim1")],
    }
    validate_claim_statuses(errors, status, {"resourceClaims": [{"name": "claim1"}]})
    assert not errors

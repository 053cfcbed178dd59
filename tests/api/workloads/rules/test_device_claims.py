"""Validation of resource claims and claim templates.

Adapted from upstream's pkg/apis/resource/validation: validation_resourceclaim_test.go TestValidateClaim,
TestValidateClaimUpdate, TestValidateClaimStatusUpdate (43 of 92 rows; the others are about metadata, which all kinds
share, gates that are off, network data and shared devices).
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.workloads.rules.kind_rules import rules_of
from tests.support.cluster.devices import claim, request

Json = dict[str, Any]
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
QUALIFIED = "a fully qualified name must be a domain and a name separated by a slash"
REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
REQUESTS = "spec.devices.requests"
OPAQUE = {"opaque": {"driver": "dra.example.com", "parameters": {"kind": "foo"}}}


def complaints(kind: str, obj: Json) -> list[str]:
    rules = rules_of(kind)
    assert rules is not None
    obj = deepcopy(obj)
    rules.default(obj)
    errors = Errors()
    rules.validate(errors, obj)
    return [str(error) for error in errors]


def alternatives(*names: str, **fields: Any) -> Json:
    listed = [{"name": name, "deviceClassName": "gpu", **fields} for name in names]
    return {"name": "foo", "firstAvailable": listed}


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        pytest.param(claim(), [], id="good-claim"),
        pytest.param(
            claim("c", request(device_class="")), [f"{REQUESTS}[0].exactly.deviceClassName: Required value"],
            id="missing-classname",
        ),
        pytest.param(
            claim("c", *(request(f"r{n}") for n in range(33))),
            [f"{REQUESTS}: Too many: 33: must have at most 32 items"],
            id="invalid-request-with-max-size-short-circuit",
        ),
        pytest.param(
            claim("c", {"name": "Bad", "exactly": {"deviceClassName": "gpu"}}, {"name": "none"}),
            [
                f'{REQUESTS}[0].name: Invalid value: "Bad": {LABEL}',
                f"{REQUESTS}[1]: Required value: exactly one of `exactly` or `firstAvailable` is required",
            ],
            id="invalid-request-without-max-size-short-circuit",
        ),
        pytest.param(
            claim(
                "c",
                request(),
                constraints=[
                    {"requests": ["gpu"], "distinctAttribute": "missing-domain"},
                    {"distinctAttribute": ""},
                    {},
                ],
            ),
            [
                f'spec.devices.constraints[0].distinctAttribute: Invalid value: "missing-domain": {IDENTIFIER}',
                f'spec.devices.constraints[0].distinctAttribute: Invalid value: "missing-domain": {QUALIFIED}',
                f'spec.devices.constraints[1].distinctAttribute: Invalid value: "": {IDENTIFIER}',
                f'spec.devices.constraints[1].distinctAttribute: Invalid value: "": {QUALIFIED}',
                ('spec.devices.constraints[2]: Required value: exactly one of "matchAttribute" or "distinctAttribute" '
                'is '
                "required, but multiple fields are set"),
            ],
            id="invalid-distinct-constraint",
        ),
        pytest.param(
            claim(
                "c",
                request(),
                constraints=[{"requests": ["gpu"], "matchAttribute": "dra.example.com/index"}],
                config=[{"requests": ["gpu"], **OPAQUE}],
            ),
            [],
            id="valid-request",
        ),
        pytest.param(
            claim(
                "c",
                request(),
                constraints=[{"requests": ["gpu", "!@#$%^"], "matchAttribute": "missing-domain"}],
                config=[{"requests": ["gpu", "!@#$%^"], **OPAQUE}],
            ),
            [
                f'spec.devices.constraints[0].requests[1]: Invalid value: "!@#$%^": {LABEL}',
                f'spec.devices.constraints[0].requests[1]: Invalid value: "!@#$%^": {REFERENCE}',
                f'spec.devices.constraints[0].matchAttribute: Invalid value: "missing-domain": {IDENTIFIER}',
                f'spec.devices.constraints[0].matchAttribute: Invalid value: "missing-domain": {QUALIFIED}',
                f'spec.devices.config[0].requests[1]: Invalid value: "!@#$%^": {LABEL}',
                f'spec.devices.config[0].requests[1]: Invalid value: "!@#$%^": {REFERENCE}',
            ],
            id="invalid-spec",
        ),
        pytest.param(
            claim(
                "c",
                request("foo"),
                request("foo2", allocationMode="All"),
                request("foo3", count=-1),
                request("foo4", allocationMode="other"),
                {"name": "foo5", "exactly": {"deviceClassName": "gpu", "allocationMode": "All", "count": 2}},
                request("foo"),
            ),
            [
                f"{REQUESTS}[2].exactly.count: Invalid value: -1: must be greater than zero",
                (f'{REQUESTS}[3].exactly.allocationMode: Unsupported value: "other": supported values: "All", '
                '"ExactCount"'),
                f"{REQUESTS}[4].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
                f'{REQUESTS}[5]: Duplicate value: "foo"',
            ],
            id="allocation-mode",
        ),
        pytest.param(
            claim(
                "c",
                request(),
                config=[
                    {"opaque": {"driver": "dra.example.com"}},
                    {"opaque": {"driver": "dra.example.com", "parameters": "hello-world"}},
                    {"opaque": {"driver": "dra.example.com", "parameters": {"str": "x" * 10240}}},
                    {},
                ],
            ),
            [
                "spec.devices.config[0].opaque.parameters: Required value",
                ('spec.devices.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON '
                'object'),
                "spec.devices.config[2].opaque.parameters: Too long: may not be more than 10240 bytes",
                "spec.devices.config[3].opaque: Required value",
            ],
            id="configuration",
        ),
        pytest.param(
            claim("c", request(expression="device.noSuchField")),
            [
                (f"{REQUESTS}[0].exactly.selectors[0].cel.expression: Invalid value: \"device.noSuchField\": "
                "compilation "
                "failed: undefined field 'noSuchField'")
            ],
            id="CEL-compile-errors",
        ),
        pytest.param(
            claim("c", request(expression="device.driver == '" + "x" * 10240 + "'")),
            [f"{REQUESTS}[0].exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"],
            id="CEL-length",
        ),
        pytest.param(
            claim("c", request(expression="device.attributes.exists(a, true)")),
            [
                (f"{REQUESTS}[0].exactly.selectors[0].cel.expression: Invalid value: "
                '"device.attributes.exists(a, true)": compilation failed: "exists()" is not supported here: use '
                'comparisons of device.driver, device.attributes["domain"].name and device.capacity["domain"].name')
            ],
            id="what kubesim does not evaluate",
        ),
        pytest.param(claim("c", alternatives("bar", "other")), [], id="prioritized-list-valid"),
        pytest.param(
            claim("c", {**alternatives("bar"), "exactly": {}}),
            [
                (f"{REQUESTS}[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but "
                "multiple fields are set")
            ],
            id="prioritized-list-both-first-available-and-exactly-set",
        ),
        pytest.param(
            claim("c", {"name": "foo", "firstAvailable": [{"name": "Bad"}]}),
            [
                f'{REQUESTS}[0].firstAvailable[0].name: Invalid value: "Bad": {LABEL}',
                f"{REQUESTS}[0].firstAvailable[0].deviceClassName: Required value",
            ],
            id="prioritized-list-invalid-nested-request",
        ),
        pytest.param(
            claim("c", alternatives("bar", "bar")),
            [f'{REQUESTS}[0].firstAvailable[1]: Duplicate value: "bar"'],
            id="prioritized-list-nested-requests-same-name",
        ),
        pytest.param(
            claim("c", alternatives(*(f"s{n}" for n in range(9)))),
            [f"{REQUESTS}[0].firstAvailable: Too many: 9: must have at most 8 items"],
            id="prioritized-list-too-many-subrequests",
        ),
        pytest.param(
            claim("c", alternatives("bar"), config=[{"requests": [name], **OPAQUE} for name in ("foo/bar", "foo")]),
            [],
            id="prioritized-list-config-requests-with-subrequest-reference",
        ),
        pytest.param(
            claim("c", alternatives("bar"), config=[{"requests": [name], **OPAQUE} for name in ("foo/baz", "a/b/c")]),
            [
                f'spec.devices.config[0].requests[0]: Invalid value: "foo/baz": {REFERENCE}',
                f'spec.devices.config[1].requests[0]: Invalid value: "a/b/c": {REFERENCE}',
            ],
            id="prioritized-list-config-requests-with-invalid-subrequest-reference",
        ),
        pytest.param(
            claim(
                "c",
                request(
                    tolerations=[
                        {"operator": "Exists"},
                        {},
                        {"key": "foo", "operator": "some-other-op"},
                        {"operator": "Exists", "value": "x", "effect": "some-other-effect"},
                    ]
                ),
            ),
            [
                f"{REQUESTS}[0].exactly.tolerations[1].operator: Required value",
                (f'{REQUESTS}[0].exactly.tolerations[2].operator: Unsupported value: "some-other-op": supported '
                'values: '
                '"Equal", "Exists"'),
                f'{REQUESTS}[0].exactly.tolerations[3].value: Invalid value: "x": must be empty for operator `Exists`',
                (f'{REQUESTS}[0].exactly.tolerations[3].effect: Unsupported value: "some-other-effect": supported '
                'values: '
                '"NoExecute", "NoSchedule", "None"'),
            ],
            id="tolerations",
        ),
    ],
)  # fmt: skip
def test_claim(obj: Json, wanted: list[str]) -> None:
    assert complaints("ResourceClaim", obj) == wanted
    template = {"kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": obj["spec"]}}
    assert complaints("ResourceClaimTemplate", template) == [
        text.replace("spec.devices", "spec.spec.devices", 1) for text in wanted
    ]


def test_a_template_has_no_claim_name() -> None:
    template = {"metadata": {"name": "t"}, "spec": {"metadata": {"name": "x"}, "spec": claim()["spec"]}}
    assert complaints("ResourceClaimTemplate", template) == ["spec.metadata.name: Forbidden: cannot be set"]


def test_the_spec_of_a_claim_is_immutable() -> None:
    rules = rules_of("ResourceClaim")
    assert rules is not None
    errors = Errors()
    rules.validate_update(errors, claim(), claim())
    assert errors == []
    rules.validate_update(errors, claim("c", request(device_class="class2")), claim())
    assert [str(error) for error in errors] == [
        (
            "spec: Invalid value: "
            '{"Devices":{"Requests":[{"Name":"gpu","Exactly":{"DeviceClassName":"class2","Selectors":null,'
            '"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tolerations":null,"Capacity":null},'
            '"FirstAvailable":null}],"Constraints":null,"Config":null}}: field is immutable'
        )
    ]


# -- status -----------------------------------------------------------------------------------------------------------

RESULT = {"request": "gpu", "driver": "dra.example.com", "pool": "pool", "device": "dev"}
ALLOCATION: Json = {"devices": {"results": [RESULT]}}
CONSUMER = {"resource": "pods", "name": "foo", "uid": "1"}


@pytest.mark.parametrize(
    ("status", "before", "deleted", "wanted"),
    [
        pytest.param({}, {}, False, [], id="valid-no-op-update"),
        pytest.param({"allocation": {}}, {}, False, [], id="valid-add-allocation-empty"),
        pytest.param({"allocation": ALLOCATION}, {}, False, [], id="valid-add-allocation-non-empty"),
        pytest.param(
            {"allocation": {"devices": {"results": [{**RESULT, "request": "Bad"}]}}},
            {},
            False,
            [
                f'status.allocation.devices.results[0].request: Invalid value: "Bad": {LABEL}',
                f'status.allocation.devices.results[0].request: Invalid value: "Bad": {REFERENCE}',
            ],
            id="invalid-add-allocation-bad-request",
        ),
        pytest.param(
            {"allocation": {"nodeSelector": {}}},
            {},
            False,
            [
                (
                    "status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one node "
                    "selector "
                    "term"
                )
            ],
            id="invalid-node-selector",
        ),
        pytest.param(
            {"allocation": ALLOCATION, "reservedFor": [CONSUMER]}, {}, False, [], id="add-reservation-and-allocation"
        ),
        pytest.param(
            {"allocation": ALLOCATION, "reservedFor": [{**CONSUMER, "uid": str(n)} for n in range(257)]},
            {"allocation": ALLOCATION},
            False,
            ["status.reservedFor: Too many: 257: must have at most 256 items"],
            id="invalid-reserved-for-too-large",
        ),
        pytest.param(
            {"allocation": ALLOCATION, "reservedFor": [CONSUMER, CONSUMER]},
            {"allocation": ALLOCATION},
            False,
            ['status.reservedFor[1]: Duplicate value: "1"'],
            id="invalid-reserved-for-duplicate",
        ),
        pytest.param(
            {"reservedFor": [CONSUMER]},
            {},
            False,
            ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
            id="invalid-reserved-for-no-allocation",
        ),
        pytest.param(
            {"allocation": ALLOCATION, "reservedFor": [{}]},
            {"allocation": ALLOCATION},
            False,
            [f"status.reservedFor[0].{name}: Required value" for name in ("resource", "name", "uid")],
            id="invalid-reserved-for-no-resource, no-name, no-uid",
        ),
        pytest.param(
            {"allocation": ALLOCATION, "reservedFor": [CONSUMER]},
            {"allocation": ALLOCATION},
            True,
            [
                (
                    "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or "
                    "`deletionTimestamp` are set"
                )
            ],
            id="invalid-reserved-deleted",
        ),
        pytest.param(
            {"allocation": {"devices": {"results": []}}},
            {"allocation": ALLOCATION},
            False,
            [
                (
                    'status.allocation: Invalid value: {"Devices":{"Results":[],"Config":null},"NodeSelector":null,'
                    '"AllocationTimestamp":null}: field is immutable'
                )
            ],
            id="invalid-allocation-modification",
        ),
        pytest.param({}, {"allocation": ALLOCATION}, False, [], id="an allocation is released"),
        pytest.param(
            {"allocation": ALLOCATION, "devices": [{**RESULT, "device": "other"}]},
            {"allocation": ALLOCATION},
            False,
            [
                (
                    'status.devices[0]: Invalid value: "dra.example.com/pool/other": must be an allocated device in '
                    "the claim"
                )
            ],
            id="invalid-device-status-no-device",
        ),
        pytest.param(
            {"allocation": {"devices": {"results": [{**RESULT, "bindingConditions": ["ready"]}]}}},
            {},
            False,
            [
                (
                    "status.allocation.devices.results[0].bindingFailureConditions: Invalid value: null: "
                    "bindingFailureConditions are required to use bindingConditions"
                )
            ],
            id="lacking-binding-failure-conditions-claim-has-binding-conditions",
        ),
    ],
)
def test_claim_status(status: Json, before: Json, deleted: bool, wanted: list[str]) -> None:
    rules = rules_of("ResourceClaim")
    assert rules is not None
    errors = Errors()
    new, old = {**claim(), "status": status}, {**claim(), "status": before}
    if deleted:
        new["metadata"] = {**new["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    rules.validate_status(errors, new, old)
    assert [str(error) for error in errors] == wanted

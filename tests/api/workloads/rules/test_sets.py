"""Defaults, validation and immutable fields of StatefulSets, DaemonSets and ControllerRevisions.

Mirrors: pkg/apis/apps/v1/defaults_test.go; pkg/apis/apps/validation/validation_test.go; pkg/registry/apps
strategy_test.go
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.cluster.registry.strategies import internal, prepare_for_create, strategy_of, validate_create
from kubesim.cluster.store.kinds import resource_of
from tests.support.workloads.sets import CLAIM_TEMPLATE, daemon_set, rolling, stateful_set, template

Json = dict[str, Any]
_MISMATCH = 'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`'


def _created(manifest: Json) -> Json:
    resource = resource_of(manifest["kind"])
    body = deepcopy(manifest)
    body["metadata"].setdefault("namespace", "default")
    obj = {**internal(resource, body), "kind": manifest["kind"], "apiVersion": "apps/v1"}
    prepare_for_create(resource, obj, "2026-01-01T00:00:00Z")
    return obj


def _refused(manifest: Json) -> list[str]:
    return [str(error) for error in validate_create(resource_of(manifest["kind"]), _created(manifest))]


def _updated(old: Json, new: Json) -> tuple[Json, list[str]]:
    strategy = strategy_of(resource_of(old["kind"]), "")
    before, after = _created(old), _created(new)
    for obj in (before, after):
        obj["metadata"]["resourceVersion"] = "7"
    strategy.prepare(after, before)
    errors = Errors()
    strategy.validate(errors, after, before)
    return after, [str(error) for error in errors]


# -- StatefulSet ----------------------------------------------------------------------------------------------------


def test_defaults_of_a_stateful_set() -> None:
    spec = _created(stateful_set(volumeClaimTemplates=[CLAIM_TEMPLATE]))["spec"]
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == rolling(partition=0)
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert spec["revisionHistoryLimit"] == 10
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    (claim,) = spec["volumeClaimTemplates"]
    assert (claim["kind"], claim["apiVersion"], claim["status"]) == (
        "PersistentVolumeClaim",
        "v1",
        {"phase": "Pending"},
    )
    assert claim["spec"]["volumeMode"] == "Filesystem"
    manifest = stateful_set()
    del manifest["spec"]["replicas"]
    assert _created(manifest)["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, rolling(partition=0)),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
        ({"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
        (rolling(), rolling(partition=0)),
        ({"rollingUpdate": {"partition": 2}}, rolling(partition=2)),
        (rolling(partition=1, maxUnavailable=2), rolling(partition=1)),
    ],
)
def test_default_update_strategy(given: Json, expected: Json) -> None:
    """The field maxUnavailable is dropped, as its feature is disabled."""
    assert _created(stateful_set(updateStrategy=given))["spec"]["updateStrategy"] == expected


_MOUNTS = template()
_MOUNTS["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
_POLICY_ERROR = 'Unsupported value: "foo": supported values: "Retain", "Delete"'
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": 0}, []),
        ({"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}}, []),
        ({"template": _MOUNTS, "volumeClaimTemplates": [CLAIM_TEMPLATE]}, []),
        ({"template": template(hostname="Not_Valid", subdomain="Not_Valid")}, []),
        (
            {"selector": None},
            [
                "spec.selector: Required value",
                _MISMATCH,
            ],
        ),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"]),
        (
            {"selector": {"matchLabels": {"foo": "bar"}}},
            [_MISMATCH],
        ),
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        ({"minReadySeconds": -1}, ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"]),
        ({"ordinals": {"start": -2}}, ["spec.ordinals.start: Invalid value: -2: must be greater than or equal to 0"]),
        ({"serviceName": "Invalid.Name"}, [f'spec.serviceName: Invalid value: "Invalid.Name": {_LABEL_RULE}']),
        (
            {"podManagementPolicy": "foo"},
            ["spec.podManagementPolicy: Invalid value: \"foo\": must be 'OrderedReady' or 'Parallel'"],
        ),
        (
            {"updateStrategy": {"type": "foo"}},
            [
                (
                    'spec.updateStrategy: Invalid value: {"Type":"foo","RollingUpdate":null}: '
                    "must be 'RollingUpdate' or 'OnDelete'"
                )
            ],
        ),
        (
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            [
                (
                    'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: '
                    "only allowed for updateStrategy 'RollingUpdate'"
                )
            ],
        ),
        (
            {"updateStrategy": rolling(partition=-1)},
            ["spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "foo", "whenScaled": "foo"}},
            [
                f"spec.persistentVolumeClaimRetentionPolicy.whenDeleted: {_POLICY_ERROR}",
                f"spec.persistentVolumeClaimRetentionPolicy.whenScaled: {_POLICY_ERROR}",
            ],
        ),
        (
            {"template": template(restartPolicy="Never")},
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
        (
            {"template": template(activeDeadlineSeconds=5)},
            [
                (
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                    "activeDeadlineSeconds in StatefulSet is not Supported"
                )
            ],
        ),
        (
            {"template": _MOUNTS},
            ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'],
        ),
        (
            {"volumeClaimTemplates": [{**CLAIM_TEMPLATE, "spec": {**CLAIM_TEMPLATE["spec"], "accessModes": []}}]},
            ["spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required"],
        ),
    ],
)
def test_validation_of_a_stateful_set(spec: Json, expected: list[str]) -> None:
    assert _refused(stateful_set(**spec)) == expected


@pytest.mark.parametrize("name", ["abc.123", "Abc", "a" * 64])
def test_the_name_of_a_stateful_set_is_a_label_value(name: str) -> None:
    manifest = stateful_set()
    manifest["metadata"]["name"] = name
    complaints = _refused(manifest)
    assert len(complaints) == 1
    assert complaints[0].startswith(f'metadata.name: Invalid value: "{name}": ')
    assert "subdomain" not in complaints[0]


_FORBIDDEN = (
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
    "forbidden"
)
_LARGER: Json = {**CLAIM_TEMPLATE, "spec": {**CLAIM_TEMPLATE["spec"], "resources": {"requests": {"storage": "2Gi"}}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"replicas": 5}, []),
        ({"template": template("two")}, []),
        ({"updateStrategy": {"type": "OnDelete"}}, []),
        ({"minReadySeconds": 5}, []),
        ({"revisionHistoryLimit": 2}, []),
        ({"ordinals": {"start": 2}}, []),
        ({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}, []),
        ({"serviceName": "other"}, [_FORBIDDEN]),
        ({"podManagementPolicy": "Parallel"}, [_FORBIDDEN]),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}, [_FORBIDDEN]),
        ({"volumeClaimTemplates": [_LARGER]}, [_FORBIDDEN]),
        ({"volumeClaimTemplates": []}, [_FORBIDDEN]),
    ],
)
def test_mutable_fields_of_a_stateful_set(spec: Json, expected: list[str]) -> None:
    old = stateful_set(volumeClaimTemplates=[CLAIM_TEMPLATE])
    new = stateful_set(**{"volumeClaimTemplates": [CLAIM_TEMPLATE], **spec})
    updated, complaints = _updated(old, new)
    assert complaints == expected
    assert updated["metadata"]["generation"] == (2 if spec else 1)


# -- DaemonSet ------------------------------------------------------------------------------------------------------

_GENERATION = "deprecated.daemonset.template.generation"


def test_defaults_of_a_daemon_set() -> None:
    obj = _created(daemon_set())
    assert obj["spec"]["updateStrategy"] == rolling(maxUnavailable=1, maxSurge=0)
    assert obj["spec"]["revisionHistoryLimit"] == 10
    assert obj["metadata"]["annotations"] == {_GENERATION: "1"}
    assert _created(daemon_set(updateStrategy={"type": "OnDelete"}))["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_the_template_generation_is_set_by_the_server() -> None:
    new = daemon_set(template=template("two"))
    new["metadata"]["annotations"] = {_GENERATION: "7", "mine": "yes"}
    updated, _ = _updated(daemon_set(), new)
    assert updated["metadata"]["annotations"] == {_GENERATION: "2", "mine": "yes"}
    assert updated["metadata"]["generation"] == 2
    updated, _ = _updated(daemon_set(), daemon_set(minReadySeconds=5))
    assert updated["metadata"]["annotations"] == {_GENERATION: "1"}
    assert updated["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"updateStrategy": {"type": "OnDelete"}}, []),
        (
            {"selector": None},
            [_MISMATCH],
        ),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"]),
        (
            {"selector": {"matchLabels": {"foo": "bar"}}},
            [_MISMATCH],
        ),
        ({"template": template(containers=[])}, ["spec.template.spec.containers: Required value"]),
        (
            {"template": template(restartPolicy="OnFailure")},
            ['spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"'],
        ),
        (
            {"template": template(activeDeadlineSeconds=5)},
            [
                (
                    "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                    "activeDeadlineSeconds in DaemonSet is not Supported"
                )
            ],
        ),
        ({"minReadySeconds": -1}, ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"revisionHistoryLimit": -1},
            ["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"updateStrategy": {"type": "foo"}},
            [
                (
                    'spec.updateStrategy: Unsupported value: {"Type":"foo","RollingUpdate":null}: '
                    'supported values: "RollingUpdate", "OnDelete"'
                )
            ],
        ),
    ],
)
def test_validation_of_a_daemon_set(spec: Json, expected: list[str]) -> None:
    assert _refused(daemon_set(**spec)) == expected


_ZERO = "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"
_HUNDRED = 'Invalid value: "101%": must not be greater than 100%'
_TWO = "may not be set when maxUnavailable is non-zero"


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [
        (0, 0, [_ZERO]),
        ("0%", 0, [_ZERO]),
        (0, "0%", [_ZERO]),
        ("0%", "0%", [_ZERO]),
        (1, 0, []),
        ("1%", 0, []),
        ("100%", 0, []),
        (0, 1, []),
        (0, "1%", []),
        (0, "100%", []),
        ("1%", "1%", [f'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "1%": {_TWO}']),
        (1, 1, [f"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: {_TWO}"]),
        (
            "101%",
            0,
            [f"spec.updateStrategy.rollingUpdate.maxUnavailable: {_HUNDRED}"],
        ),
        (
            0,
            "101%",
            [f"spec.updateStrategy.rollingUpdate.maxSurge: {_HUNDRED}"],
        ),
    ],
)
def test_either_surge_or_unavailability_is_more_than_zero(
    unavailable: int | str, surge: int | str, expected: list[str]
) -> None:
    strategy = rolling(maxUnavailable=unavailable, maxSurge=surge)
    assert _refused(daemon_set(updateStrategy=strategy)) == expected


def test_the_selector_of_a_daemon_set_is_immutable() -> None:
    _, complaints = _updated(daemon_set(), daemon_set(selector={"matchLabels": {"foo": "bar"}}))
    assert complaints == [
        'spec.selector: Invalid value: {"matchLabels":{"foo":"bar"}}: field is immutable',
        _MISMATCH,
    ]


# -- ControllerRevision ---------------------------------------------------------------------------------------------


def _revision(**fields: Any) -> Json:
    kind = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}}
    return {**kind, "data": {"spec": {}}, "revision": 1, **fields}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"revision": -1}, ["revision: Invalid value: -1: must be greater than or equal to 0"]),
        ({"data": None}, ["data: Required value: data is mandatory"]),
    ],
)
def test_validation_of_a_revision(fields: Json, expected: list[str]) -> None:
    assert _refused(_revision(**fields)) == expected


def test_the_data_of_a_revision_is_immutable_but_its_number_is_not() -> None:
    assert _updated(_revision(), _revision(revision=2))[1] == []
    _, complaints = _updated(_revision(), _revision(data={"spec": {"a": 1}}))
    assert complaints == ['data: Invalid value: {"spec":{"a":1}}: field is immutable']


def test_an_invalid_selector_is_printed() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "Unknown"}]}
    shown = '{"matchExpressions":[{"key":"a","operator":"Unknown"}]}'
    assert _refused(stateful_set(selector=selector)) == [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Unknown": not a valid selector operator',
        f"spec.selector: Invalid value: {shown}",
    ]


def test_an_unknown_strategy_of_a_daemon_set_is_printed() -> None:
    strategy = {"type": "Other", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    (found,) = _refused(daemon_set(updateStrategy=strategy))
    assert found == (
        'spec.updateStrategy: Unsupported value: {"Type":"Other","RollingUpdate":{"MaxUnavailable":1,"MaxSurge":0}}: '
        'supported values: "RollingUpdate", "OnDelete"'
    )


def test_a_stateful_set_without_a_service() -> None:
    assert _refused(stateful_set(serviceName="")) == []


def test_the_partition_is_optional() -> None:
    assert _refused(stateful_set(updateStrategy={"type": "RollingUpdate"})) == []

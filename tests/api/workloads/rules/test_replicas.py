"""Defaults and validation of Deployments, ReplicaSets and ReplicationControllers.

Adapted from: pkg/apis/apps/v1/defaults_test.go TestSetDefaultDeployment; pkg/apis/apps/validation/validation_test.go
TestValidateDeployment, TestValidateReplicaSet; pkg/apis/core/validation TestValidateReplicationController
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.workloads.rules.replicas import RULES
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.cluster.workload_manifests import workload

Change = Callable[[dict[str, Any]], object]


def complaints(kind: str, change: Change = lambda spec: None) -> list[str]:
    manifest = workload(kind)
    change(manifest["spec"])
    RULES[kind].default(manifest)
    errors = Errors()
    RULES[kind].validate(errors, manifest)
    return [str(error) for error in errors]


def change_complaints(kind: str, change: Change) -> list[str]:
    old, new = workload(kind), workload(kind)
    change(new["spec"])
    errors = Errors()
    for manifest in (old, new):
        RULES[kind].default(manifest)
    RULES[kind].validate_update(errors, new, old)
    return [str(error) for error in errors]


def template_of(spec: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = spec["template"]
    return found


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController"])
def test_a_minimal_manifest_is_valid(kind: str) -> None:
    assert complaints(kind) == []


def test_defaults_of_a_deployment() -> None:
    manifest: dict[str, Any] = {"metadata": {}, "spec": {}}
    RULES["Deployment"].default(manifest)
    template = manifest["spec"].pop("template")
    assert manifest["spec"] == {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    assert template["spec"] == {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"type": "Recreate"}, {"type": "Recreate"}),
        (
            {"rollingUpdate": {"maxSurge": 3}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": "25%"}},
        ),
    ],
)
def test_defaults_of_the_strategy(strategy: dict[str, Any], expected: dict[str, Any]) -> None:
    manifest = workload("Deployment", strategy=strategy)
    RULES["Deployment"].default(manifest)
    assert manifest["spec"]["strategy"] == expected


def test_a_replication_controller_takes_its_selector_and_labels_from_the_template() -> None:
    manifest = workload("ReplicationController")
    del manifest["spec"]["selector"], manifest["spec"]["replicas"]
    RULES["ReplicationController"].default(manifest)
    assert manifest["spec"]["selector"] == manifest["metadata"]["labels"] == {"app": "web"}
    assert manifest["spec"]["replicas"] == 1


SELECTOR = "spec.selector"
TEMPLATE = "spec.template"


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda spec: spec.update(replicas=-1),
            ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
            id="negative replicas",
        ),
        pytest.param(
            lambda spec: spec.update(minReadySeconds=-1),
            ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"],
            id="negative minReadySeconds",
        ),
        pytest.param(
            lambda spec: spec.pop("selector"),
            [
                "spec.selector: Required value",
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
            ],
            id="no selector",
        ),
        pytest.param(
            lambda spec: spec.update(selector={}),
            ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
            id="empty selector",
        ),
        pytest.param(
            lambda spec: spec.update(selector={"matchLabels": {"app": "other"}}),
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'
            ],
            id="selector of other pods",
        ),
        pytest.param(
            lambda spec: spec.update(selector={"matchExpressions": [{"key": "app", "operator": "Has"}]}),
            [
                'spec.selector.matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator',
                'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Has"}]}: invalid label selector',
            ],
            id="unknown operator",
        ),
        pytest.param(
            lambda spec: template_of(spec)["spec"].update(restartPolicy="OnFailure"),
            ['spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"'],
            id="pods that end",
        ),
        pytest.param(
            lambda spec: template_of(spec)["spec"].update(activeDeadlineSeconds=5),
            [
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported"
            ],
            id="deadline of pods",
        ),
        pytest.param(
            lambda spec: template_of(spec)["spec"].update(containers=[]),
            ["spec.template.spec.containers: Required value"],
            id="no containers",
        ),
    ],
)
def test_common_errors(kind: str, change: Change, expected: list[str]) -> None:
    assert complaints(kind, change) == expected


@pytest.mark.parametrize(
    "selector",
    [
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "x"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "other", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]},
    ],
)
def test_selectors_with_expressions(selector: dict[str, Any]) -> None:
    assert complaints("Deployment", lambda spec: spec.update(selector=selector)) == []


ROLLING = "spec.strategy.rollingUpdate"
PERCENT = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
            [f"{ROLLING}: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": "20Percent"}}},
            [f'{ROLLING}.maxSurge: Invalid value: "20Percent": {PERCENT}'],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            [f"{ROLLING}.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
            [f'{ROLLING}.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": "110%"}}},
            [f'{ROLLING}.maxUnavailable: Invalid value: "110%": must not be greater than 100%'],
        ),
        (
            {"strategy": {"rollingUpdate": {"maxUnavailable": -1}}},
            [f"{ROLLING}.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"strategy": {"type": "Sideways"}},
            [
                'spec.strategy: Unsupported value: {"Type":"Sideways","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"'
            ],
        ),
        (
            {"progressDeadlineSeconds": 600, "minReadySeconds": 600},
            ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
        ),
        (
            {"revisionHistoryLimit": -1},
            ["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_deployment_errors(change: dict[str, Any], expected: list[str]) -> None:
    assert complaints("Deployment", lambda spec: spec.update(change)) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda spec: (spec.update(selector={}), template_of(spec)["metadata"].pop("labels")),
            ["spec.selector: Required value"],
        ),
        (
            lambda spec: spec.update(selector={"app": "other"}),
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'
            ],
        ),
        (lambda spec: spec.pop("template"), ["spec.template: Required value"]),
        (
            lambda spec: spec.update(replicas=-1),
            ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            lambda spec: template_of(spec)["spec"].update(activeDeadlineSeconds=5),
            [
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported"
            ],
        ),
    ],
)
def test_replication_controller_errors(change: Change, expected: list[str]) -> None:
    assert complaints("ReplicationController", change) == expected


def test_the_selector_is_immutable() -> None:
    other = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    shown = '{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"x","operator":"DoesNotExist"}]}'
    for kind in ("Deployment", "ReplicaSet"):
        found = change_complaints(kind, lambda spec: spec.update(selector=other))
        assert found == [f"spec.selector: Invalid value: {shown}: field is immutable"]
        same = {"matchLabels": {"app": "web"}, "matchExpressions": []}
        assert change_complaints(kind, lambda spec: spec.update(selector=same)) == []  # noqa: B023
    assert change_complaints("ReplicationController", lambda spec: spec.update(selector={"app": "x"})) == []


def test_a_changed_spec_increases_the_generation_but_changed_labels_do_not() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("ReplicaSet", replicas=0))
        assert cluster.get("ReplicaSet", "web").metadata.generation == 1
        cluster.patch("ReplicaSet", "web", {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}})
        assert cluster.get("ReplicaSet", "web").metadata.generation == 1
        cluster.patch("ReplicaSet", "web", {"spec": {"replicas": 1}})
        assert cluster.get("ReplicaSet", "web").metadata.generation == 2

    controlled(story)


def test_an_unknown_strategy_is_printed_with_its_parameters() -> None:
    strategy = {"type": "Other", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "25%"}}
    assert complaints("Deployment", lambda spec: spec.update(strategy=strategy)) == [
        'spec.strategy: Unsupported value: {"Type":"Other","RollingUpdate":{"MaxUnavailable":1,"MaxSurge":"25%"}}: supported values: "Recreate", "RollingUpdate"'
    ]


def test_a_template_has_no_ephemeral_containers() -> None:
    ephemeral = [{"name": "debug", "image": "busybox"}]
    found = complaints("ReplicaSet", lambda spec: template_of(spec)["spec"].update(ephemeralContainers=ephemeral))
    assert (
        "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template" in found
    )

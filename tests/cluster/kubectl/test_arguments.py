"""Resource types and names on a command line."""

from __future__ import annotations

import pytest

from kubesim.cluster.kubectl.arguments import KubectlError, name_with_kind, resource_named, targets
from kubesim.cluster.store.served_kinds import resource_for


@pytest.mark.parametrize(
    ("name", "plural"),
    [
        ("po", "pods"), ("pod", "pods"), ("Pods", "pods"), ("deploy", "deployments"),
        ("deployments.apps", "deployments"),
        ("deployment.v1.apps", "deployments"), ("sts", "statefulsets"), ("ds", "daemonsets"), ("rs", "replicasets"),
        ("cj", "cronjobs"), ("job", "jobs"), ("svc", "services"), ("endpointslice", "endpointslices"),
        ("cm", "configmaps"), ("secret", "secrets"), ("pvc", "persistentvolumeclaims"), ("pv", "persistentvolumes"),
        ("ns", "namespaces"), ("no", "nodes"), ("ev", "events"), ("sc", "storageclasses"), ("ingress", "ingresses"),
        ("networkpolicies", "networkpolicies"), ("events.v1.", "")
    ],
)  # fmt: skip
def test_names_of_a_type(name: str, plural: str) -> None:
    if plural:
        assert resource_named(name).plural == plural
    else:
        with pytest.raises(KubectlError, match="the server doesn't have a resource type"):
            resource_named(name)


def test_several_types_and_names() -> None:
    assert [target.resource.plural for target in targets(["po,svc"])] == ["pods", "services"]
    named = targets(["pod", "a", "b"])
    assert [(each.resource.kind, each.name) for each in named] == [("Pod", "a"), ("Pod", "b")]
    mixed = targets(["pod/a", "deploy/b"])
    assert [(each.resource.kind, each.name) for each in mixed] == [("Pod", "a"), ("Deployment", "b")]


def test_all_is_a_list_of_types_in_the_order_of_discovery() -> None:
    assert [target.resource.plural for target in targets(["all"])] == [
        "pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets", "statefulsets",
        "cronjobs", "jobs",
    ]  # fmt: skip


def test_an_existing_custom_resource_has_a_type() -> None:
    widget = resource_for("shop.example.com/v1", "Widget")
    for name in ("widgets", "widget", "widgets.shop.example.com"):
        [found] = targets([name], [widget])
        assert found.resource is widget
    assert name_with_kind(widget, "x") == "widget.shop.example.com/x"


@pytest.mark.parametrize("words", [["pod", "pod/web"], ["pod/"], ["/web"], ["pod/a/b"]])
def test_misplaced_slashes(words: list[str]) -> None:
    with pytest.raises(KubectlError, match=r"^error: "):
        targets(words)

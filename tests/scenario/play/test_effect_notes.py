"""Fields without effect are noted in the run: of objects, steps, patches, static pods and the kubelet's
configuration.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.played import Played, pod

PREFIX = "without effect here: "


def notes(story: Played) -> list[str]:
    found = [text.removeprefix(PREFIX) for text in story.notes() if text.startswith(PREFIX)]
    assert [PREFIX + text for text in found] == list(story.result.without_effect)
    return found


def privileged(name: str) -> dict[str, Any]:
    whole = pod(name)
    whole["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return whole


def test_objects_and_those_of_steps_are_reported_together() -> None:
    story = Played({"at": "2s", "apply": privileged("later")}, objects=[privileged("web"), pod("plain")])
    assert notes(story) == ["spec.containers[0].securityContext.privileged (pod default/web and 1 more)"]


def test_a_run_without_such_fields_has_no_note() -> None:
    assert notes(Played(objects=[pod("plain", hostIPC=False)])) == []


def test_the_template_is_reported_instead_of_its_pods() -> None:
    template = privileged("x")
    template["metadata"] = {"labels": {"app": "x"}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
    assert notes(Played(objects=[deployment])) == [
        "spec.template.spec.containers[0].securityContext.privileged (Deployment default/x)"
    ]


def test_patches_are_checked() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    merged = {"at": "1s", "patch": {"object": "Service/s", "patch": {"spec": {"externalIPs": ["192.0.2.1"]}}}}
    operation = {"op": "add", "path": "/spec/ports/0/nodePort", "value": 30080}
    listed = {"at": "2s", "patch": {"object": "Service/s", "patch": [operation]}}
    typed = {"at": "1s", "patch": {"object": "Service/s", "patch": {"spec": {"type": "NodePort"}}}}
    assert notes(Played(typed, merged, listed, objects=[service])) == [
        "spec.externalIPs (Service default/s)",
        "spec.ports[0].nodePort (Service default/s)",
    ]


def test_static_pods_are_reported_with_the_others() -> None:
    write = {"at": "5s", "writeStaticPod": {"file": "c.yaml", "manifest": privileged("c")}}
    story = Played(write, sources={"file": {"manifests": {"a.yaml": privileged("a"), "b.yaml": privileged("b")}}})
    assert notes(story) == ["spec.containers[0].securityContext.privileged (pod default/a and 2 more)"]


def test_text_is_checked_after_the_kubelet_has_read_it() -> None:
    story = Played(sources={"file": {"manifests": {"a.yaml": json.dumps(privileged("a"))}}})
    assert notes(story) == ["spec.containers[0].securityContext.privileged (pod default/a-node-1)"]


def test_a_static_pod_adds_no_line_for_a_reported_field() -> None:
    write = {"at": "5s", "writeStaticPod": {"file": "a.yaml", "manifest": json.dumps(privileged("a"))}}
    assert notes(Played(write, objects=[privileged("web")])) == [
        "spec.containers[0].securityContext.privileged (pod default/web)"
    ]


def test_pods_of_a_url_are_checked() -> None:
    story = Played(sources={"http": {"url": "http://manifests/", "manifest": json.dumps(privileged("a"))}})
    assert notes(story) == ["spec.containers[0].securityContext.privileged (pod default/a-node-1)"]
    answer = {"at": "5s", "serveManifest": {"manifests": [privileged("a"), privileged("b")]}}
    story = Played(answer, sources={"http": {"url": "http://manifests/", "manifests": []}})
    assert notes(story) == ["spec.containers[0].securityContext.privileged (pod default/a and 1 more)"]


def test_the_kubelet_configuration_is_reported_in_one_line() -> None:
    given = {"cpuCFSQuota": False, "hairpinMode": "none", "maxPods": 10, "logging": {"format": "json"}}
    assert notes(Played(kubeletConfiguration=given)) == ["hairpinMode, cpuCFSQuota (kubelet configuration)"]


def test_kinds_that_are_only_stored_are_reported() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    story = Played(objects=[role])
    assert story.result.without_effect == ("stored, no effect here: Role/r",)

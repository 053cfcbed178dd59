"""Cases after upstream's configmap_test.go, secret_test.go, downwardapi_test.go and projected_test.go."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod, ResourceList
from kubesim.kubelet.volumes.object_manager import NotListedYet, ObjectNotFound, ObjectUnavailable
from kubesim.kubelet.volumes.payload import PAYLOADS, Payload
from kubesim.kubelet.volumes.spec import VolumeError

NOTES = {"labels": {"b": "2", "a": "1"}, "annotations": {"x": 'say "x"'}}
RESOURCES = {"limits": {"memory": "64Mi"}, "requests": {"cpu": "250m"}}
POD = Pod.from_json(
    {
        "metadata": {"name": "web", "namespace": "ns", "uid": "u", **NOTES},
        "spec": {"containers": [{"name": "c", "resources": RESOURCES}]},
    }
)
BINARY = {"bin": base64.b64encode(b"b").decode()}
OBJECTS = {
    ("ConfigMap", "ns", "cm"): {"data": {"one": "1", "two": "2"}, "binaryData": BINARY},
    ("Secret", "ns", "s"): {"data": {"password": base64.b64encode(b"geheim").decode()}},
}


class Host:
    def get_object(self, kind: str, namespace: str, name: str) -> ApiObject:
        if name == "slow":
            raise NotListedYet((kind, namespace, name))
        if name == "foreign":
            raise ObjectUnavailable('object "ns"/"foreign" not registered')
        if (kind, namespace, name) not in OBJECTS:
            raise ObjectNotFound(f'{kind.lower()} "{name}" not found')
        return ApiObject.from_json({"kind": kind, "metadata": {"name": name}, **OBJECTS[kind, namespace, name]})

    def service_account_token(self, pod: Pod, source: Any) -> str:
        if source.get("audience") == "nobody":
            raise VolumeError("failed to fetch token: no")
        return f"token of {pod.metadata.name}"

    def node_allocatable(self) -> ResourceList:
        return {"cpu": "4", "memory": "8Gi"}


def payload(field: str, source: dict[str, Any]) -> Payload:
    return PAYLOADS[field](source, POD, Host())


def problem(field: str, source: dict[str, Any]) -> str:
    with pytest.raises(VolumeError) as error:
        payload(field, source)
    return str(error.value)


def item(key: str, path: str) -> dict[str, Any]:
    return {"key": key, "path": path}


@pytest.mark.parametrize(
    ("field", "source", "files"),
    [
        ("configMap", {"name": "cm"}, {"one": "1", "two": "2", "bin": "b"}),
        ("configMap", {"name": "cm", "items": [item("two", "path/to/two")]}, {"path/to/two": "2"}),
        ("configMap", {"name": "cm", "items": [item("bin", "x"), item("one", "y")]}, {"x": "b", "y": "1"}),
        ("configMap", {"name": "no", "optional": True}, {}),
        ("configMap", {"name": "no", "items": [item("a", "b")], "optional": True}, {}),
        ("configMap", {"name": "cm", "items": [item("no", "b"), item("one", "c")], "optional": True}, {"c": "1"}),
        ("secret", {"secretName": "s"}, {"password": "geheim"}),
        ("secret", {"secretName": "s", "items": [item("password", "p")]}, {"p": "geheim"}),
        ("secret", {"secretName": "no", "optional": True}, {}),
    ],
)
def test_objects_as_files(field: str, source: dict[str, Any], files: Payload) -> None:
    assert payload(field, source) == files


@pytest.mark.parametrize(
    ("field", "source", "text"),
    [
        ("configMap", {"name": "no"}, 'configmap "no" not found'),
        ("configMap", {"name": "cm", "items": [item("no", "x")]}, "configmap references non-existent config key: no"),
        ("configMap", {"name": "foreign", "optional": True}, 'object "ns"/"foreign" not registered'),
        ("secret", {"secretName": "no"}, 'secret "no" not found'),
        ("secret", {"secretName": "s", "items": [item("no", "x")]}, "references non-existent secret key: no"),
    ],
)
def test_missing_objects_that_are_not_optional(field: str, source: dict[str, Any], text: str) -> None:
    assert problem(field, source) == text


def test_an_object_that_is_not_listed_yet_is_awaited() -> None:
    for field, source in (("configMap", {"name": "slow"}), ("projected", {"sources": [{"secret": {"name": "slow"}}]})):
        with pytest.raises(NotListedYet):
            payload(field, source)


def test_fields_of_the_pod_as_files() -> None:
    def field(path: str, name: str) -> dict[str, Any]:
        return {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": name}}

    def resource(path: str, name: str, **more: str) -> dict[str, Any]:
        return {"path": path, "resourceFieldRef": {"containerName": "c", "resource": name, **more}}

    items = [
        field("labels", "metadata.labels"),
        field("./annotations", "metadata.annotations"),
        field("one", "metadata.labels['a']"),
        field("name", "metadata.name"),
        resource("memory", "limits.memory", divisor="1Mi"),
        resource("cpu", "limits.cpu"),
        resource("request", "requests.cpu", divisor="1m"),
    ]
    assert payload("downwardAPI", {"items": items}) == {
        "labels": 'a="1"\nb="2"',
        "annotations": r'x="say \"x\""',
        "one": "1",
        "name": "web",
        "memory": "64",
        "cpu": "4",  # no limit: the resource of the node
        "request": "250",
    }
    bad = [field("ip", "status.podIP"), resource("x", "limits.bananas")]
    reported = "[unsupported fieldPath: status.podIP, unsupported container resource : limits.bananas]"
    assert problem("downwardAPI", {"items": bad}) == reported


def test_a_projection_writes_everything_into_one_directory() -> None:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "cm", "items": [item("one", "one"), item("two", "both")]}},
        {"secret": {"name": "s", "items": [item("password", "both")]}},
        {"downwardAPI": {"items": [namespace]}},
        {"configMap": {"name": "no", "optional": True}},
    ]
    files = {"token": "token of web", "one": "1", "both": "geheim", "namespace": "ns"}
    assert payload("projected", {"sources": sources}) == files


def test_a_projection_reports_each_error_once() -> None:
    sources = [
        {"configMap": {"name": "no"}},
        {"secret": {"name": "no"}},
        {"configMap": {"name": "no"}},
        {"serviceAccountToken": {"path": "token", "audience": "nobody"}},
    ]
    one, *more = ('configmap "no" not found', 'secret "no" not found', "failed to fetch token: no")
    assert problem("projected", {"sources": sources[:1]}) == one
    assert problem("projected", {"sources": sources}) == f"[{', '.join([one, *more])}]"

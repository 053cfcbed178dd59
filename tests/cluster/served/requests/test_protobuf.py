"""Protobuf objects as kubectl 1.36 sends them, and invalid bytes."""

from __future__ import annotations

import random

import pytest

from kubesim.api.schema.types import Type, struct_fields
from kubesim.cluster.served.requests.protobuf import ProtobufError, _messages, decode_object, embedded_messages
from kubesim.cluster.served.rest import Request, handle
from kubesim.cluster.store.kinds import RESOURCES
from tests.support.cluster.protobuf import CONFIG_MAP, PRIORITY_CLASS
from tests.support.cluster.rest import body_of, new_store

REVIEW = "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a656374416363657373526576696577123d0a100a0012001a0022002a00320038004200121f0a1d0a086b742d6465762d6112036765741a0022002a04706f647332003a001a08080012001a0020001a002200"  # noqa: E501


def test_a_config_map() -> None:
    found = decode_object(bytes.fromhex(CONFIG_MAP))
    assert found == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "pb", "namespace": "kt-dev-a"},
        "data": {"a": "1"},
    }


def test_set_numbers_are_kept_and_unset_ones_omitted() -> None:
    found = decode_object(bytes.fromhex(PRIORITY_CLASS))
    assert (found["value"], found["preemptionPolicy"]) == ("5", "PreemptLowerPriority")
    assert "globalDefault" not in found


def test_a_review_is_answered() -> None:
    request = Request(
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {"content-type": "application/vnd.kubernetes.protobuf"},
        raw=bytes.fromhex(REVIEW),
    )
    response = handle(new_store(), request)
    assert response.status == 201
    body = body_of(response)
    assert body["spec"] == {"resourceAttributes": {"namespace": "kt-dev-a", "verb": "get", "resource": "pods"}}
    assert body["status"] == {"allowed": True}


@pytest.mark.parametrize("data", [b"", b"k8s", b"k8s\0\xff", b"k8s\0\x0a\xff\xff", b'{"kind":"Pod"}', b"k8s\0\x12\x00"])
def test_invalid_objects_are_rejected(data: bytes) -> None:
    with pytest.raises(ProtobufError):
        decode_object(data)


def test_corrupted_bytes_are_decoded_or_rejected() -> None:
    chance, whole, store = random.Random(29), bytes.fromhex(PRIORITY_CLASS), new_store()
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(4, len(broken))] = chance.randrange(256)
        headers = {"content-type": "application/vnd.kubernetes.protobuf"}
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        response = handle(store, Request("POST", path, headers, raw=bytes(broken)))
        assert response.status < 500 or "resourceVersion should not be set" in body_of(response)["message"]


def test_every_field_of_the_served_kinds_has_a_number() -> None:
    since_1_37 = {("HTTPGetAction", "protocol"), ("GRPCAction", "mode")}
    left, found, missing = [resource.type_name for resource in RESOURCES.values()], set[str](), set[tuple[str, str]]()
    while left:
        struct = left.pop()
        if struct not in found:
            found.add(struct)
            numbered = set(_messages()[struct].values())
            for outer, inner in embedded_messages(struct).items():
                numbered |= set(_messages()[inner].values()) if outer in numbered else set()
            for name, field in struct_fields(struct).items():
                missing |= {(struct, name)} if name not in numbered else set()
                left.append(innermost(field.type).struct or struct)
    assert missing - {(struct, name) for struct in found for name in ("kind", "apiVersion")} == since_1_37


def innermost(type_: Type) -> Type:
    return innermost(type_.of) if type_.kind in ("list", "map") else type_


def envelope(version: str, kind: str, raw: bytes) -> bytes:
    meta = part(1, part(1, version.encode()) + part(2, kind.encode()))
    return b"k8s\0" + meta + part(2, raw)


def part(number: int, data: bytes) -> bytes:
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def test_a_deployment() -> None:
    """The shortened request of `kubectl create deployment`."""
    template = part(2, part(2, part(1, b"nginx") + part(2, b"nginx:1.27")))
    raw = part(1, part(1, b"web")) + part(
        2, b"\x08\x03" + part(2, part(1, part(1, b"app") + part(2, b"web"))) + part(3, template)
    )
    assert decode_object(envelope("apps/v1", "Deployment", raw)) == {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": "3",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:1.27"}]}},
        },
    }


def test_no_protobuf_kind_causes_a_server_error() -> None:
    store = new_store()
    headers = {"content-type": "application/vnd.kubernetes.protobuf"}
    for resource in RESOURCES.values():
        space = "/namespaces/default" if resource.namespaced else ""
        group = f"/apis/{resource.group}" if resource.group else "/api"
        path = f"{group}/{resource.version}{space}/{resource.plural}"
        for kind in (resource.kind_name, "DeviceConfiguration", "VolumeSource", "Frob"):
            raw = envelope(resource.api_version, kind, part(1, part(1, b"x")))
            assert handle(store, Request("POST", path, headers, raw=raw)).status < 500, (resource.plural, kind)

"""Secrets of known types need their keys."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.cluster.rest import body_of, new_store, send

SECRETS, CONFIG_MAPS = "/api/v1/namespaces/orc/secrets", "/api/v1/namespaces/orc/configmaps"
NO_MAP = "json: cannot unmarshal array into Go value of type map[string]interface {}"
REDACTED = 'Invalid value: "<secret contents redacted>"'


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("kind", "data", "problems"),
    [
        ("tls", {"tls.crt": "x"}, ["data[tls.key]: Required value"]),
        ("basic-auth", {}, ["data[username]: Required value", "data[password]: Required value"]),
        ("basic-auth", {"password": ""}, []),
        ("ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]: Required value"]),
        ("dockercfg", {}, ["data[.dockercfg]: Required value"]),
        (
            "dockerconfigjson",
            {".dockerconfigjson": "x"},
            [f"data[.dockerconfigjson]: {REDACTED}: invalid character 'x' looking for beginning of value"],
        ),
        (
            "dockerconfigjson",
            {".dockerconfigjson": "[]"},
            [f"data[.dockerconfigjson]: {REDACTED}: {NO_MAP}"],
        ),
        ("dockerconfigjson", {".dockerconfigjson": "{}"}, []),
        (
            "service-account-token",
            {},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        ("unknown", {}, []),
    ],
)
def test_the_keys_of_a_type(kind: str, data: dict[str, str], problems: list[str]) -> None:
    values = {key: encoded(text) for key, text in data.items()}
    body = {"metadata": {"name": "m"}, "type": f"kubernetes.io/{kind}", "data": values}
    answer = body_of(send(new_store(), "POST", SECRETS, body))
    causes = (answer.get("details") or {}).get("causes") or []
    assert [f"{cause['field']}: {cause['message']}" for cause in causes] == problems


def test_data_is_limited_to_a_mebibyte() -> None:
    whole = "x" * (1 << 20)
    limit = "Too long: may not be more than 1048576 bytes"
    for path, data, field in ((SECRETS, encoded(whole + "x"), "data"), (CONFIG_MAPS, whole + "x", "[]")):
        answer = send(new_store(), "POST", path, {"metadata": {"name": "m"}, "data": {"k": data}})
        assert body_of(answer)["message"].endswith(f'"m" is invalid: {field}: {limit}')
    fits: dict[str, Any] = {"metadata": {"name": "m"}, "data": {"k": whole}}
    assert send(new_store(), "POST", CONFIG_MAPS, fits).status == 201


def test_objects_of_the_cluster_have_no_namespace() -> None:
    made = send(new_store(), "POST", "/api/v1/namespaces", {"metadata": {"name": "m", "namespace": "x"}})
    assert (made.status, "namespace" in body_of(made)["metadata"]) == (201, False)


def test_the_finalizers_of_a_namespace_are_checked() -> None:
    body = {"metadata": {"name": "orc"}, "spec": {"finalizers": ["bad"]}}
    answer = send(new_store(), "PUT", "/api/v1/namespaces/orc/finalize", body)
    assert body_of(answer)["message"].endswith(
        'spec.finalizers[0]: Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified'
    )

"""The data of ConfigMaps and Secrets as text."""

from __future__ import annotations

from kubesim.api.configuration import configuration
from kubesim.api.meta import ApiObject


def test_config_maps() -> None:
    assert configuration(ApiObject.from_json({"kind": "ConfigMap", "data": {"a": "1"}})) == {"a": "1"}
    assert configuration(ApiObject.from_json({"kind": "ConfigMap"})) == {}


def test_secrets_are_decoded() -> None:
    content = {"kind": "Secret", "data": {"a": "MQ==", "b": "/w=="}}
    assert configuration(ApiObject.from_json(content)) == {"a": "1", "b": "\ufffd"}

"""The data of ConfigMaps and Secrets as text, for environment variables and volumes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject


def configuration(found: ApiObject) -> dict[str, str]:
    """`data` by key. The data of a Secret is base64-decoded; the API server has validated it."""
    content: Mapping[str, Any] = found.extra
    data: Mapping[str, str] = content.get("data") or {}
    return _decoded(data) if found.kind == "Secret" else dict(data)


def binary_data(found: ApiObject) -> dict[str, str]:
    """The binaryData of a ConfigMap, which only volumes use."""
    content: Mapping[str, Any] = found.extra
    return _decoded(content.get("binaryData") or {})


def _decoded(data: Mapping[str, str]) -> dict[str, str]:
    return {key: base64.b64decode(value).decode(errors="replace") for key, value in data.items()}

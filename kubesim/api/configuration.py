"""The content of ConfigMaps and Secrets, as text: for environment variables and for volumes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject


def configuration(found: ApiObject) -> dict[str, str]:
    """`data` by key. A Secret's is decoded; what it was given as text and is not yet in `data` goes before."""
    content: Mapping[str, Any] = found.__pydantic_extra__ or {}
    data: dict[str, str] = dict(content.get("data") or {})
    if found.kind == "Secret":
        data = {key: _decoded(value) for key, value in data.items()}
        data.update(content.get("stringData") or {})
    return data


def binary_data(found: ApiObject) -> dict[str, str]:
    """What a ConfigMap holds beside its text: for volumes only."""
    content: Mapping[str, Any] = found.__pydantic_extra__ or {}
    return {key: _decoded(value) for key, value in (content.get("binaryData") or {}).items()}


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""

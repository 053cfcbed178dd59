"""Names of objects in scenarios: `Kind/name` or `Kind/namespace/name`; `Kind.group` for a custom kind."""

from __future__ import annotations

import difflib
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from kubesim.cluster.store.served_kinds import served_kinds


def is_object_name(text: str) -> str:
    kind, *rest = text.split("/")
    if not kind or len(rest) not in (1, 2) or not all(rest):
        raise PydanticCustomError("object", "must be Kind/name or Kind/namespace/name, not {text}", {"text": text})
    kinds = dict.fromkeys(name for _, name in served_kinds())
    if kind not in kinds and "." not in kind:
        near = difflib.get_close_matches(kind, kinds, n=1)
        hint = f"did you mean {near[0]}?" if near else "write Kind.group for a custom kind"
        raise PydanticCustomError("object", "unknown kind {kind}; {hint}", {"kind": kind, "hint": hint})
    return text


ObjectName = Annotated[str, AfterValidator(is_object_name)]


def has_namespace(kind: str) -> bool:
    return next((namespaced for (_, served), namespaced in served_kinds().items() if served == kind), True)

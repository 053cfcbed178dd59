"""Decodes JSON responses of an API server within limits on size, number of values and depth.

The server is not trusted. A response that exceeds a limit or is not JSON raises `Undecodable` and is discarded.
"""

from __future__ import annotations

import json
from typing import Any

from kubesim.golang.json import whole_characters

MAX_BODY = 16 << 20  # one answer, decompressed
MAX_OPEN_BODIES = 24 << 20  # limit for all responses that are read concurrently
# A pod has one value for every 30 bytes. A body of empty objects would need 20 times its size in memory.
MAX_VALUES = 800_000
MAX_DEPTH = 100  # Kubernetes' own types need fewer than 20 levels


class Undecodable(ValueError):
    """The response is not valid JSON of the expected form."""


def decode_json(body: bytes) -> Any:
    """The JSON value of a body; raises Undecodable."""
    openings = body.count(b"[") + body.count(b"{")
    if body.count(b",") + openings > MAX_VALUES:
        raise Undecodable(f"the JSON has more than {MAX_VALUES} values")
    try:
        value = json.loads(whole_characters(body.decode()))
    except RecursionError:
        raise Undecodable("the JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise Undecodable("no JSON: it is not UTF-8 text") from None
    except ValueError as error:
        raise Undecodable(f"no JSON: {error}") from None
    # Pods have fewer brackets than this. Skipping the depth check saves 14 of 160 us for each.
    if openings > MAX_DEPTH and is_deeper_than(value, MAX_DEPTH):
        raise Undecodable("the JSON is nested too deeply")
    return value


def decode_object(body: bytes, kind: str) -> dict[str, Any]:
    """The JSON object of one kind; raises Undecodable."""
    value = decode_json(body)
    if not isinstance(value, dict) or value.get("kind") != kind:
        found = value.get("kind") if isinstance(value, dict) else None
        raise Undecodable(f"no {kind}, but {f'a {found}' if isinstance(found, str) and found else 'something else'}")
    return value


def is_deeper_than(value: Any, depth: int) -> bool:
    """Whether objects and lists are nested deeper than `depth`. Iterative, to avoid recursion limits."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return bool(level)

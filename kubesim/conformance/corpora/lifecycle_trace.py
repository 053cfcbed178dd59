"""`lifecycle_trace`: the whole agent in virtual time; compared by content, time (20 ms), and order where it is
deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kubesim.conformance.frame import Case
from kubesim.conformance.lives import lifecycle

SLACK_S = 0.02


def play(case: Case, *, seed: int = 0) -> dict[str, Any]:
    return lifecycle.play(case, seed=seed)


def judge(case: Case, expected: dict[str, Any], actual: dict[str, Any]) -> Iterator[str]:
    want, got = expected["trace"], actual["trace"]
    if want == got:
        return
    if expected.get("sameInstantOrder") == "stable":
        yield from _in_order(want, got)
        return
    free = list(got)
    for entry in want:
        partner = next((other for other in free if _close(entry, other) and _same(entry, other)), None)
        if partner is None:
            yield f"missing: {_show(entry)}"
            return
        free.remove(partner)
    for entry in free[:1]:
        yield f"extra: {_show(entry)}"


def _in_order(want: list[dict[str, Any]], got: list[dict[str, Any]]) -> Iterator[str]:
    for n, (expected, actual) in enumerate(zip(want, got, strict=False)):
        if not _same(expected, actual) or not _close(expected, actual):
            yield f"entry {n}: expected {_show(expected)}"
            yield f"entry {n}: produced {_show(actual)}"
            return
    if len(want) != len(got):
        rest = (want if len(want) > len(got) else got)[min(len(want), len(got))]
        yield f"{len(want)} entries expected, {len(got)} produced; first without partner: {_show(rest)}"


def _close(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(abs(one["t"] - other["t"]) <= SLACK_S)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return {**one, "t": 0} == {**other, "t": 0}


def _show(entry: dict[str, Any]) -> str:
    content = json.dumps({key: value for key, value in entry.items() if key != "t"}, sort_keys=True)
    return f"{entry['t']} {content[:300]}"

"""The tables contain every Event reason seen in a real cluster, and those that kubesim's components emit."""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubesim.scenario.names.tables import CONDITIONS, EVENT_REASONS, event_reasons, is_out_of

ROOT = Path(__file__).parent.parent.parent.parent


def emitted() -> Iterator[str]:
    """Reasons in the source where an Event is emitted: `events.event(pod, "Warning", "FailedMount", ...)`."""
    for path in (ROOT / "kubesim").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "event":
                yield from (str(arg.value) for arg in node.args[2:3] if isinstance(arg, ast.Constant))


def recorded() -> Iterator[dict[str, Any]]:
    """All mappings in the stories of a real API server."""
    for path in (ROOT / "tests" / "conformance" / "data").glob("*/*.json.gz"):
        with gzip.open(path, "rt") as file:
            open_values: list[Any] = [json.load(file)]
        while open_values:
            value = open_values.pop()
            if isinstance(value, dict):
                yield value
                open_values += value.values()
            elif isinstance(value, list):
                open_values += value


def test_reasons_in_the_source_are_known() -> None:
    reasons = set(emitted())
    assert len(reasons) > 40
    assert reasons <= EVENT_REASONS


def test_reasons_of_real_events_and_conditions_of_real_pods_are_known() -> None:
    reasons, conditions = set(), set()
    for value in recorded():
        if value.get("type") in ("Normal", "Warning") and "reason" in value:
            reasons.add(value["reason"])
        for condition in value.get("conditions") or () if "containerStatuses" in value else ():
            conditions.add(condition["type"] if isinstance(condition, dict) else condition)
    assert len(reasons) > 25
    assert {reason for reason in reasons if not is_out_of(reason)} <= EVENT_REASONS
    assert conditions <= {*CONDITIONS["Pod"]}


def test_real_events_are_about_kinds_that_emit_them() -> None:
    seen = set()
    for value in recorded():
        about = value.get("involvedObject") or value.get("regarding")
        if isinstance(about, dict) and "kind" in about and value.get("reason") in EVENT_REASONS:
            seen.add((about["kind"], value["reason"]))
    assert len(seen) > 10
    assert {(kind, reason) for kind, reason in seen if reason not in event_reasons(kind)} == set()


def test_out_of_resource_reasons() -> None:
    assert all(
        map(is_out_of, ("OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods", "OutOfexample.com/gpu"))
    )
    assert not any(map(is_out_of, ("OutOf", "OutOfMemory", "OutOfluck")))

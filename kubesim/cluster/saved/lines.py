"""The lines of a saved run (`kubesim run --save`), one JSON object each.

    {"type": "run", "kubesim": ..., "scenario": ..., "seed": ..., "profile": ..., "start": ..., "nodes": [...]}
    {"type": "ADDED", "t": 0.005, "object": {...}}     a change at the API server: ADDED, MODIFIED or DELETED
    {"seq": 1, "t": 0.005, "kind": ...}                a record of the trace, as `-o jsonl` prints it
    {"type": "end", "t": 65.0, "ok": true, "hash": ...}

Objects that exist at the start are ADDED at 0. Lines are in chronological order. The data of Secrets is replaced; the
keys stay. The last line is missing if the run was cut off.
"""

from __future__ import annotations

from typing import Any

from kubesim import __version__
from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import format_micro_time
from kubesim.cluster.wire import object_to_json
from kubesim.golang.json import printable_json
from kubesim.values import value_object

REDACTED = "REDACTED"
CHANGES = ("ADDED", "MODIFIED", "DELETED")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@value_object
class RunHeader:
    """The description of a run. `start` is microseconds since the epoch."""

    scenario: str
    seed: int
    profile: str
    start: int
    nodes: tuple[str, ...]

    def line(self) -> str:
        said = {"scenario": self.scenario, "seed": self.seed, "profile": self.profile}
        start, nodes = format_micro_time(self.start), list(self.nodes)
        return printable_json({"type": "run", "kubesim": __version__, **said, "start": start, "nodes": nodes})


def change_line(type: str, t: int, obj: dict[str, Any]) -> str:
    """A line for a change. `t` is microseconds since the start."""
    return f'{{"type": "{type}", "t": {t / 1_000_000:.6f}, "object": {printable_json(obj)}}}'


def end_line(t: int, ok: bool, hash: str | None) -> str:
    content = printable_json({"ok": ok, **({"hash": hash} if hash else {})})
    return f'{{"type": "end", "t": {t / 1_000_000:.6f}, {content[1:]}'


def shown_object(obj: ApiObject) -> dict[str, Any]:
    """An object as the API server returns it, without Secret data."""
    body = object_to_json(obj)
    if body.get("kind") != "Secret":
        return body
    for field in ("data", "stringData"):
        if body.get(field):
            body[field] = dict.fromkeys(body[field], REDACTED)
    annotations = body.get("metadata", {}).get("annotations")
    if annotations and _LAST_APPLIED in annotations:
        kept = {**annotations, _LAST_APPLIED: REDACTED}
        body["metadata"] = {**body["metadata"], "annotations": kept}
    return body

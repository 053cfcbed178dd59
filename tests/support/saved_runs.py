"""Saved runs for tests: of given objects, and of scenarios."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kubesim.cluster.saved.lines import RunHeader, change_line, end_line

START = 946_684_800_000_000


def header(start: int = START) -> RunHeader:
    return RunHeader("story", 0, "v1.36", start, ("node-1",))


def saved_objects(path: Path, objects: Iterable[dict[str, Any]], *, start: int = START, end: int = 600_000_000) -> Path:
    """A saved run in which these objects exist from start to end."""
    changes = [change_line("ADDED", 0, obj) for obj in objects]
    path.write_text("\n".join([header(start).line(), *changes, end_line(end, True, None)]) + "\n")
    return path


def named(kind: str, name: str, namespace: str = "default", api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": f"{kind}-{name}", "creationTimestamp": "2000-01-01T00:00:00Z"}
    if namespace:
        metadata["namespace"] = namespace
    metadata.update(fields.pop("metadata", {}))
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata, **fields}


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]

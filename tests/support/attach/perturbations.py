"""Recordings of a node with harmless disturbances: delays, lost Events, gaps, another clock.

The kubelet causes none of them, so none may be reported as a divergence. Times are in seconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

Json = dict[str, Any]
Perturbation = Callable[[Sequence[Json]], list[Json]]

CHANGES = ("ADDED", "MODIFIED", "DELETED")


def delayed(seed: int, most: float = 2) -> Perturbation:
    """Delay each message by at most this time; the messages of one watch stay in order."""

    def perturb(lines: Sequence[Json]) -> list[Json]:
        chance, last, made = random.Random(seed), dict[str, float](), list[Json]()
        for line in lines:
            kind = line.get("kind")
            if kind is not None:
                last[kind] = max(last.get(kind, 0), round(line["t"] + chance.uniform(0, most), 3))
                line = line | {"t": last[kind]}
            made.append(line)
        return sorted(made, key=lambda line: float(line["t"]))

    return perturb


def events_dropped(seed: int, share: float = 0.4) -> Perturbation:
    """Drop some Events; their counts still include the dropped ones."""

    def perturb(lines: Sequence[Json]) -> list[Json]:
        chance = random.Random(seed)
        return [line for line in lines if not _is_change(line, "Event") or chance.random() >= share]

    return perturb


def gap(kind: str, begin: float, length: float = 20) -> Perturbation:
    """From `begin` on, no message of a kind is received for a while; then it is listed again."""

    def perturb(lines: Sequence[Json]) -> list[Json]:
        start = lines[0]["t"] + begin
        there = dict[tuple[str, str], Json]()
        version, made, broken, back = 0, list[Json](), False, False
        for line in lines:
            if not broken and line["t"] >= start:
                made.append({"t": start, "kind": kind, "type": "BROKEN", "why": "lost", "relist": True})
                broken = True
            if broken and not back and line["t"] >= start + length:
                made.append({"t": start + length, "kind": kind, "type": "LIST", "resourceVersion": str(version)})
                made[-1]["items"] = [dict(item) for item in there.values()]
                back = True
            if line.get("kind") == kind:
                version = max(version, _follow(there, line))
                if broken and not back:
                    continue
            made.append(line)
        return made

    return perturb


def clock_off(by: float) -> Perturbation:
    """The recorder's clock is ahead of the node's by this time."""

    def perturb(lines: Sequence[Json]) -> list[Json]:
        return [line | {"t": round(line["t"] + by, 3)} for line in lines]

    return perturb


def no_starting_events(lines: Sequence[Json]) -> list[Json]:
    """The Event about the kubelet's start is lost."""
    return [line for line in lines if not (_is_change(line, "Event") and line["object"].get("reason") == "Starting")]


def no_node_events(lines: Sequence[Json]) -> list[Json]:
    """No message about the node itself is received."""
    return [
        line for line in lines if not (_is_change(line, "Event") and line["object"]["involvedObject"]["kind"] == "Node")
    ]


def both(first: Perturbation, second: Perturbation) -> Perturbation:
    return lambda lines: second(first(lines))


def _is_change(line: Json, kind: str) -> bool:
    return line.get("kind") == kind and line.get("type") in CHANGES


def _follow(there: dict[tuple[str, str], Json], line: Json) -> int:
    """Update the objects of a list to their newest version."""
    if line["type"] == "LIST":
        there.clear()
        there.update({_key(item): item for item in line["items"]})
        return int(line["resourceVersion"])
    if line["type"] not in (*CHANGES, "BOOKMARK"):
        return 0
    obj = line["object"]
    if line["type"] == "DELETED":
        there.pop(_key(obj), None)
    elif line["type"] != "BOOKMARK":
        there[_key(obj)] = obj
    return int(obj["metadata"]["resourceVersion"])


def _key(obj: Json) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

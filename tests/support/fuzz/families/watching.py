"""`kubesim explain` of pods in files, and `kubesim attach --replay` of recordings."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.support.fuzz.damage import damaged, json_bytes, yaml_bytes
from tests.support.fuzz.families import ROOT, Invocation
from tests.support.fuzz.mutations import Mutator

DATA = ROOT / "tests" / "attach" / "data" / "node.jsonl.gz"
LINES = 60  # lines of the recording after the lists
AT = ["--at", "2026-11-17T12:00:00Z"]


@functools.cache
def recorded() -> list[Any]:
    """The first lines of a recorded node: header, lists (cut to a few objects), changes."""
    lines = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
    for line in lines:
        if line.get("type") == "LIST":
            line["items"] = line["items"][:4]
    lists = [line for line in lines if "header" in line or line.get("type") == "LIST"]
    changes = [line for line in lines if "header" not in line and line.get("type") != "LIST"]
    return [*lists[:5], *changes[:LINES]]


@functools.cache
def objects(kind: str) -> list[Any]:
    """Objects of the recording as an API server returns them."""
    found = []
    for line in recorded():
        if line.get("kind") == kind:
            found += [
                {"kind": kind, "apiVersion": "v1", **one}
                for one in (*line.get("items", ()), *([line["object"]] if "object" in line else ()))
            ]
    return found


@functools.cache
def pods_seen() -> Mutator:
    crashing = json.loads((ROOT / "tests" / "attach" / "crashloop.json").read_text())
    return Mutator([crashing, *objects("Pod")])


@functools.cache
def _whole() -> Mutator:
    return Mutator([recorded()])


def recording(rng: Random, folder: Path) -> Invocation:
    lines = _whole().mutated(rng)
    text = b"".join(json.dumps(line).encode() + b"\n" for line in (lines if isinstance(lines, list) else [lines]))
    packed = rng.random() < 0.2
    file = folder / f"node.jsonl{'.gz' if packed else ''}"
    file.write_bytes(damaged(gzip.compress(text, 1, mtime=0) if packed else text, rng))
    flags = rng.choice(([], [], ["-o", "jsonl"], ["--every", "20s"], ["--from", "5s"]))
    return Invocation(["attach", "--replay", str(file), *flags])


def pods(rng: Random, folder: Path) -> Invocation:
    flags = rng.choice(([], [], ["-o", "json"], ["-o", "jsonl"]))
    tree = pods_seen().mutated(rng)
    if rng.random() < 0.3:
        tree = {
            "kind": "List",
            "apiVersion": "v1",
            "items": [tree, *rng.sample(objects("Event"), 3), rng.choice(objects("Node"))],
        }
    for flag, kind in (("--events", "Event"), ("--node", "Node")):
        if rng.random() < 0.2:
            file = folder / f"{kind}.json"
            file.write_bytes(json_bytes(Mutator(objects(kind)[:20]).mutated(rng), rng))
            flags = [*flags, flag, str(file)]
    if rng.random() < 0.5:
        return Invocation(["explain", "-", *AT, *flags], json_bytes(tree, rng))
    file = folder / "pod.yaml"
    file.write_bytes(yaml_bytes([tree], rng))
    return Invocation(["explain", str(file), *AT, *flags])

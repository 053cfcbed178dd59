"""`kubesim conformance`: damaged corpora and stories."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.support.fuzz.damage import damaged
from tests.support.fuzz.families import ROOT, Invocation
from tests.support.fuzz.mutations import Mutator

DATA = ROOT / "tests" / "conformance" / "data"
CASES = 40  # the first cases of each corpus
REAL = ("real_chain", "edge")  # they start processes
STORIES = (
    "traces/simple",
    "traces/crashloop",
    "traces/configmap-missing",
    "workloads/job-complete",
    "workloads/sched-gate-spread",
)


@functools.cache
def _corpora() -> dict[str, Mutator]:
    found = {}
    for path in sorted(DATA.glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        if name not in REAL:
            with gzip.open(path, "rt") as lines:
                found[name] = Mutator([json.loads(line) for line in itertools.islice(lines, CASES)])
    return found


@functools.cache
def _story(name: str) -> Mutator:
    return Mutator([json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))])


def corpus(rng: Random, folder: Path) -> Invocation:
    flags = rng.choice(([], ["--json"], ["--all-failures"]))
    if rng.random() < 0.1:
        name = rng.choice(STORIES)
        file = folder / name.split("/")[0] / "story.json"
        file.parent.mkdir()
        file.write_bytes(damaged(_json(_story(name).mutated(rng)), rng))
        return Invocation(["conformance", str(folder), "--seed", "1", *flags])
    name = rng.choice(sorted(_corpora()))
    lines = b"".join(_json(_corpora()[name].mutated(rng)) + b"\n" for _ in range(2))
    packed = rng.random() < 0.2
    data = damaged(gzip.compress(lines, 1, mtime=0) if packed else lines, rng)
    (folder / f"{name}.jsonl{'.gz' if packed else ''}").write_bytes(data)
    return Invocation(["conformance", str(folder), *flags])


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()

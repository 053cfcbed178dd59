"""`kubesim lab`: damaged labs, and damaged progress files."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tests.support.fuzz.damage import damaged, json_bytes, yaml_bytes
from tests.support.fuzz.families import ROOT, Invocation
from tests.support.fuzz.mutations import Mutator, any_text

LABS = ROOT / "labs"
_QUESTION = {"first": "1", "right_at_first": True, "done": True, "tries": 1, "hints": 0}
_PROGRESS: dict[str, Any] = {
    "current": "01-first-crash",
    "labs": {
        "01-first-crash": {
            "questions": {"restarts": _QUESTION, "back-off": _QUESTION},
            "task_done": False,
            "task_hints": 1,
        }
    },
}
_CLASS: dict[str, Any] = {
    "learner": "a",
    "labs": [
        {"lab": "01-first-crash", "title": "t", "done": True, "questions": [{"id": "q", "predict": True, **_QUESTION}]}
    ],
}


@functools.cache
def _simulated() -> list[Path]:
    """Labs without real plugins, which would take a second each."""
    return [folder for folder in sorted(LABS.iterdir()) if (folder / "scenario.yaml").is_file()]


@functools.cache
def _of(file: str) -> Mutator:
    return Mutator([yaml.safe_load(path.read_text()) for folder in _simulated() if (path := folder / file).is_file()])


def lab(rng: Random, folder: Path) -> Invocation:
    chosen = rng.choice(_simulated())
    copy = folder / "labs" / chosen.name
    shutil.copytree(chosen, copy)
    file = copy / rng.choice(
        ("lab.yaml", "lab.yaml", "lab.yaml", "solution.yaml", "solution.yaml", "scenario.yaml", "text.md")
    )
    if file.suffix == ".md":
        file.write_bytes(
            damaged(file.read_bytes() * 2, rng)
            if rng.random() < 0.5
            else any_text(rng).encode("utf-8", "surrogatepass")
        )
    elif file.name == "scenario.yaml":
        file.write_bytes(yaml_bytes([Mutator(list(yaml.safe_load_all(file.read_text()))).mutated(rng)], rng))
    else:
        file.write_bytes(yaml_bytes([_of(file.name).change(yaml.safe_load(file.read_text()), rng)], rng))
    state = ["--labs", str(folder / "labs"), "--state", str(folder / "state")]
    number = str(int(chosen.name[:2]))
    how = rng.choice(
        (
            ["validate", str(copy)],
            ["validate", str(copy)],
            ["start", number, *state],
            ["list", *state],
            ["inside", number, *state],
        )
    )
    return Invocation(["lab", *how])


def lab_progress(rng: Random, folder: Path) -> Invocation:
    if rng.random() < 0.3:
        file = folder / "class.json"
        file.write_bytes(json_bytes(Mutator([_CLASS]).mutated(rng), rng))
        return Invocation(["lab", "class", str(file)])
    state = folder / "state"
    copy = state / "labs" / "01-first-crash" / "scenario.yaml"
    copy.parent.mkdir(parents=True)
    progress = Mutator([_PROGRESS]).mutated(rng) if rng.random() < 0.7 else _PROGRESS
    (state / "labs.json").write_bytes(
        json_bytes(progress, rng) if progress is not _PROGRESS else json.dumps(progress).encode()
    )
    copy.write_bytes(yaml_bytes(list(yaml.safe_load_all((LABS / "01-first-crash" / "solved.yaml").read_text())), rng))
    answers = [answer for _ in range(rng.choice((0, 1, 2))) if not (answer := any_text(rng)).startswith("-")]
    how = rng.choice((["list"], ["hint"], ["next"], ["check", *answers], ["check", "1", *answers], ["reset"]))
    typed = "\n".join(any_text(rng) for _ in range(3)).encode("utf-8", "replace")
    return Invocation(["lab", *how, "--state", str(state)], typed)

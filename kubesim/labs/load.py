"""Loads labs from disk: finds their directory, and reads a folder into a `Lab`.

A lab is a folder `NN-name` with `lab.yaml`, `text.md`, `scenario.yaml`, `solution.yaml` and, if it has a task,
`solved.yaml`; a lab about container networking has `network.yaml` instead of a scenario. The directory is the one
given, else the one in KUBESIM_LABS, else the labs that ship with kubesim (`kubesim.shipped`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from kubesim.errors import InputError, UsageError
from kubesim.labs.language import LabFile, Solution
from kubesim.labs.network import NetworkExercise
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.strict import Strict
from kubesim.scenario.load.loader import load_scenario
from kubesim.scenario.load.overlay import Overlay
from kubesim.scenario.load.text_files import read_text
from kubesim.scenario.load.yaml_source import Marked, read_documents
from kubesim.shipped import shipped
from kubesim.values import value_object

VARIABLE = "KUBESIM_LABS"
_FOLDER = re.compile(r"(\d{2})-([a-z0-9]+(?:-[a-z0-9]+)*)")
S = TypeVar("S", bound=Strict)


@value_object
class Lab:
    """A lab, read from disk. Its scenarios are loaded on first use."""

    folder: Path
    number: int
    file: LabFile
    text: str
    solution: Solution
    network: NetworkExercise | None = None  # instead of a scenario: real CNI plugins

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def scenario_path(self) -> Path:
        """The file of the scenario or the network exercise."""
        return self.folder / ("scenario.yaml" if self.network is None else "network.yaml")

    def scenario(self, profile: str = "") -> Scenario:
        """The scenario; with a profile, under that kubelet version."""
        return load_scenario(str(self.scenario_path), overlay=Overlay(profile=profile) if profile else None)

    def solved(self) -> Scenario:
        return load_scenario(str(self.folder / "solved.yaml"))


def labs_directory(given: str | None = None) -> Path:
    """The directory of all labs. Raises UsageError if there is none."""
    asked = given or os.environ.get(VARIABLE, "")
    if asked:
        if not Path(asked).is_dir():
            raise UsageError(f"{asked}: no such directory of labs; give --labs DIR or {VARIABLE}")
        return Path(asked)
    found = shipped("labs")
    if not found.is_dir():
        raise UsageError(f"this installation of kubesim has no labs; set --labs DIR or {VARIABLE}")
    return found


def find_labs(directory: Path) -> list[Lab]:
    """All labs, by number."""
    return [load_lab(folder) for folder in _folders(directory)]


def _folders(directory: Path) -> list[Path]:
    return sorted(path.parent for path in directory.glob("*/lab.yaml") if _FOLDER.fullmatch(path.parent.name))


def find_lab(directory: Path, asked: str) -> Lab:
    """A lab by its number or name."""
    for folder in _folders(directory):
        number, name = folder.name.split("-", 1)
        if asked in (folder.name, name) or (asked.isdigit() and int(asked) == int(number)):
            return load_lab(folder)
    raise UsageError(f"no lab {asked!r} in {directory}; kubesim lab list shows the labs")


def load_lab(folder: Path) -> Lab:
    """Load a lab. Raises InputError for a folder that is not a lab."""
    matched = _FOLDER.fullmatch(folder.name)
    if matched is None:
        raise InputError(str(folder), "not a lab: the folder of a lab has a name such as 07-some-name")
    file = read_yaml(folder / "lab.yaml", LabFile)
    solution = read_yaml(folder / "solution.yaml", Solution)
    exercise = folder / "network.yaml"
    network = read_yaml(exercise, NetworkExercise) if exercise.is_file() else None
    lab = Lab(folder, int(matched[1]), file, _titled_text(folder / "text.md"), solution, network)
    if not lab.scenario_path.is_file():
        raise InputError(str(lab.scenario_path), "no such file; a lab needs a scenario")
    if file.task is not None and not (folder / "solved.yaml").is_file():
        raise InputError(str(folder / "solved.yaml"), "no such file; a task needs the scenario that solves it")
    return lab


def lab_text(path: Path) -> str:
    """The text of a file of a lab. Raises InputError."""
    if not path.is_file():
        raise InputError(str(path), "no such file; a lab has lab.yaml, text.md, scenario.yaml, solution.yaml")
    return read_text(str(path), str(path))


def _titled_text(path: Path) -> str:
    text = lab_text(path)
    if not text.strip():
        raise InputError(str(path), "is empty; its first line is the title of the lab")
    return text


def read_yaml(path: Path, kind: type[S]) -> S:
    """The document of a YAML file with exactly one. Raises InputError."""
    documents = read_documents(lab_text(path), str(path))
    if len(documents) != 1:
        raise InputError(str(path), "one YAML document is needed")
    return validated(documents[0], str(path), kind)


def validated(document: Marked, source: str, kind: type[S]) -> S:
    """A document as a strict model. Raises the first mistake with its line."""
    try:
        return kind.model_validate(document.value)
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        path = tuple(step for step in details["loc"] if isinstance(step, str | int))
        context: dict[str, Any] = details.get("ctx", {})
        if details["type"] == "unknown_field":
            path = (*path, context["field"])
        field = ".".join(map(str, path))
        raise InputError(source, details["msg"].lower(), line=document.line_of(path), field=field) from None

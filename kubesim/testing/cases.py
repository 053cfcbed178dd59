"""The cases of `kubesim test`: files and directories -> scenarios with a seed.

Each cell of a scenario's matrix is a case too. All files are loaded before anything runs, so that all errors are
reported first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

from kubesim.errors import InputError, UsageError
from kubesim.scenario.authoring.all_problems import all_problems
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.files import EXTENSIONS
from kubesim.scenario.load.loader import load_runs, read_source
from kubesim.scenario.load.overlay import Overlay
from kubesim.scenario.load.text_files import read_text
from kubesim.shipped import scenario_file, shipped
from kubesim.values import mutable, replace, value_object

MARK = "kubesim.dev/"  # marks a file of a directory as a test
MOST_SEEDS = 100_000
SIMULATED = "simulated"  # the runtime


@value_object
class ScenarioCase:
    """One run. `cell` is a cell of the matrix; `named`: the user gave the file itself, not its directory. `snapshot` is
    the file with the expected timeline; empty: the case has none.
    """

    file: str
    scenario: Scenario
    seed: int
    cell: str = ""
    named: bool = False
    snapshot: str = ""

    @property
    def label(self) -> str:
        """`seed 3`, `seed 3, profile=v1.30`."""
        return f"seed {self.seed}" + (f", {self.cell}" if self.cell else "")

    def with_runtime(self, *chosen: Any) -> ScenarioCase:
        """A copy with another runtime, as `Scenario.with_runtime`. Only the simulated one has a stored timeline."""
        scenario = self.scenario.with_runtime(*chosen)
        return replace(self, scenario=scenario, snapshot=self.snapshot if scenario.spec.runtime == SIMULATED else "")


@mutable
class Collected:
    """The cases, and the errors in all files. `others` are files of directories without a scenario."""

    cases: list[ScenarioCase] = field(default_factory=list)
    problems: list[UsageError] = field(default_factory=list)
    others: int = 0


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse `1..50`, `7`, `1,4,10..12`, without duplicates. Raises ValueError."""
    seeds: dict[int, None] = {}
    for piece in text.split(","):
        first, dots, last = piece.strip().partition("..")
        if not first.isdecimal() or (dots and not last.isdecimal()) or not piece.isascii():
            raise ValueError(f"{text!r} is not a list of seeds, such as 7, 1..50 or 1,4,10..12")
        begin, end = int(first), int(last or first)
        if end < begin or end - begin >= MOST_SEEDS:
            raise ValueError(
                f"{piece.strip()}: the last seed must be at least the first, and at most {MOST_SEEDS:,} fit"
            )
        seeds.update(dict.fromkeys(range(begin, end + 1)))
    return tuple(seeds)


def collect(paths: Sequence[str], seeds: Sequence[int] = (), words: Sequence[str] = (), **settings: Any) -> Collected:
    """The cases of files, directories and bundled scenarios, in this order. Without `seeds`, each scenario's own seed
    applies.

    `words` filter by path or scenario name (any match). `settings` are settings of the Overlay.
    """
    found = Collected()
    for path, named in scenario_paths(paths, found):
        try:
            runs = load_runs([path], overlay=Overlay(**settings), has_seed=bool(seeds))
        except UsageError as error:
            found.problems += _all_problems(path, error, allow_host=settings.get("allow_host", False))
            continue
        for cell, scenario in runs:
            if not words or any(word.lower() in f"{path} {scenario.name}".lower() for word in words):
                found.cases += _cases(path, cell, scenario, seeds, named)
    return found


def _all_problems(path: str, first: UsageError, *, allow_host: bool) -> list[UsageError]:
    """All errors of a file that could not be loaded."""
    try:
        return all_problems(read_source(path), allow_host=allow_host) or [first]
    except UsageError:
        return [first]


def _cases(path: str, cell: str, scenario: Scenario, seeds: Sequence[int], named: bool) -> Iterator[ScenarioCase]:
    own = scenario.spec.seed
    for seed in seeds or (own,):
        # Other seeds and cells have other timelines, and real networks have other addresses in each run.
        has_timeline = seed == own and not cell and scenario.spec.runtime == SIMULATED
        snapshot = snapshot_of(path) if has_timeline else ""
        yield ScenarioCase(path, scenario, seed, cell, named, snapshot=snapshot)


def snapshot_of(path: str) -> str:
    """The snapshot file: `scenarios/web.yaml` -> `scenarios/web.timeline`."""
    return path.rpartition(".")[0] + ".timeline"


def scenario_paths(paths: Sequence[str], found: Collected) -> Iterable[tuple[str, bool]]:
    """The files of these paths without duplicates, and whether each was named itself. Errors go to `found`."""
    files: dict[str, bool] = {}
    for given in paths:
        path = str(shipped("scenarios")) if given == "scenarios" and not os.path.exists(given) else scenario_file(given)
        if not os.path.isdir(path):
            files[path] = True
            continue
        inside = [each for each in _below(path) if _is_scenario(each, found)]
        if not inside:
            found.problems.append(InputError(given, "no file in this directory is of kind Scenario"))
        for each in inside:
            files.setdefault(each, False)
    return files.items()


def _below(directory: str) -> Iterator[str]:
    for folder, folders, names in os.walk(directory):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(EXTENSIONS))


def _is_scenario(path: str, found: Collected) -> bool:
    try:
        if MARK in read_text(path, path):
            return True
        found.others += 1
    except InputError as error:
        found.problems.append(error)
    return False

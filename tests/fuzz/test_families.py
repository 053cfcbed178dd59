"""Fuzzed inputs of every family: no traceback, no hang, only exit codes 0, 1, 2, 3 and 130, at most 500 MB.

`make soak` runs 100,000 of them.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support.fuzz.families import FAMILIES, input_of
from tests.support.fuzz.fuzzing import findings
from tests.support.soak import LONG, SOAK

MOST_FINDINGS = 10
TIMES_IN_SOAK = 50


@LONG
@pytest.mark.parametrize("name", FAMILIES)
def test_no_input_breaks_a_rule(name: str, tmp_path: Path) -> None:
    count = FAMILIES[name][1] * (TIMES_IN_SOAK if SOAK else 1)
    found = list(itertools.islice(findings(name, count, tmp_path), MOST_FINDINGS))
    assert not found, "\n\n".join(map(str, found))


def test_there_are_as_many_inputs_as_documented() -> None:
    assert sum(count for _, count in FAMILIES.values()) >= 2_000


@pytest.mark.parametrize("name", sorted(FAMILIES.keys() - {"api_answers", "kubeconfig"}))
def test_a_number_always_gives_the_same_input(name: str, tmp_path: Path) -> None:
    """Inputs with clusters need a server, and are created in workers only."""
    made = []
    for _ in range(2):
        folder = tmp_path / "input"
        folder.mkdir()
        invocation = input_of(name, 7, folder)
        files = {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        made.append((invocation, files))
        folder.rename(tmp_path / f"{len(made)}")
    assert made[0] == made[1]

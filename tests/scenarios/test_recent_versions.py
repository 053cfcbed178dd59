"""v1.35 and v1.37: what their scenarios show is not so in v1.36."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.app import run_scenario
from kubesim.errors import UsageError
from kubesim.scenario.load.loader import load_scenario
from kubesim.scenario.load.overlay import Overlay

VERSIONS = Path(__file__).parent.parent.parent / "scenarios" / "versions"
RECENT = sorted([*VERSIONS.glob("v1.35-*.yaml"), *VERSIONS.glob("v1.37-*.yaml")])


def test_each_of_the_two_has_five_scenarios() -> None:
    for profile in ("v1.35", "v1.37"):
        assert len([path for path in RECENT if path.name.startswith(profile)]) >= 5


@pytest.mark.parametrize("path", RECENT, ids=lambda path: path.stem)
def test_it_is_different_in_v1_36(path: Path) -> None:
    assert differs(path)


def differs(path: Path) -> tuple[str, ...]:
    try:
        return run_scenario(load_scenario(str(path), around=Overlay(profile="v1.36")), seed=0).expectations_failed
    except UsageError as error:  # it is about a gate that v1.36 does not have
        return (str(error),)

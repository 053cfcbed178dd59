"""The page of incidents is generated from comments: each scenario has every part of a section."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mutations.key_rules import KEY_RULES
from tools.incidents_page import INCIDENTS, read_incident

FILES = sorted(INCIDENTS.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_incident_has_its_source_and_its_mechanism(path: Path) -> None:
    incident = read_incident(path)
    assert incident.links
    assert all(link.startswith("https://") for link in incident.links)
    assert len(incident.mechanism) == 3
    assert incident.look_at
    assert incident.expected


def test_every_incident_has_a_broken_rule() -> None:
    rules = {name.removeprefix("incidents/") for name in KEY_RULES if name.startswith("incidents/")}
    assert rules == {path.stem for path in FILES}


def test_a_file_is_parsed_into_sections(tmp_path: Path) -> None:
    path = tmp_path / "lost.yaml"
    path.write_text(
        "# A pod is lost.\n# Incident: https://github.com/o/r/issues/1\n# Incident: https://github.com/o/r/pull/2\n"
        "# Mechanism: one\n# two\n# three\n# Look at: the\n# timeline.\nkind: Scenario\nspec:\n  expect:\n"
        "    - {pod: web, phase: Running} # at once\n    - pod: web\n      event: Killing\n  duration: 1s\n"
    )
    incident = read_incident(path)
    assert (incident.name, incident.title) == ("lost", "A pod is lost")
    assert incident.links == ("https://github.com/o/r/issues/1", "https://github.com/o/r/pull/2")
    assert incident.mechanism == ("one", "two", "three")
    assert incident.look_at == "the timeline."
    assert incident.expected == ("- {pod: web, phase: Running} # at once", "- pod: web", "  event: Killing")

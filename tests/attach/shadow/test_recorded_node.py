"""A reduced recording of a real node, followed in virtual time: no divergence from the start or by a late follower;
every alteration is detected.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kubesim.api.timestamps import SECOND
from tests.support.attach.alterations import KINDS, alterations
from tests.support.attach.recorded_node import STAYS, followed, recording

LINES = recording()
ALTERATIONS = list(alterations(LINES))
EXPLAIN = Path(__file__).parents[3] / "docs" / "explain.md"
# The minimum number of correct predictions of each kind, from the start.
KEPT = {
    "accept": 14,
    "restart": 33,
    "restart-by": 4,
    "pull": 12,
    "mount": 17,
    "retry": 23,
    "startup": 2,
    "readiness": 4,
    "acknowledge": 4,
    "kill": 3,
    "end": 3,
    "clean-up": 8,
}


def test_from_the_start_nothing_is_reported_and_predictions_are_correct() -> None:
    follower, notes = followed(LINES)
    assert [f"{one.name}: {one.says}" for one in notes.divergences] == []
    outcomes = follower.shadow.outcomes
    assert {due: n for due, n in KEPT.items() if outcomes.get((due, "kept"), 0) < n} == {}
    assert [key for key in outcomes if key[1] in ("early", "late")] == []


@pytest.mark.parametrize("come_s", range(15, 990, 15))
def test_a_late_follower_reports_nothing(come_s: int) -> None:
    follower, notes = followed(LINES, come_s * SECOND, STAYS)
    assert [f"{one.name}: {one.says}" for one in notes.divergences] == []
    assert notes.reports
    assert follower.shadow.pods


def test_there_are_many_alterations_of_every_kind() -> None:
    found = Counter(one.kind for one in ALTERATIONS)
    assert set(found) == set(KINDS)
    assert len(found) >= 8
    assert len(ALTERATIONS) >= 40


@pytest.mark.parametrize("kind", KINDS)
def test_every_alteration_is_detected(kind: str) -> None:
    for altered in (one for one in ALTERATIONS if one.kind == kind):
        said = [one.says for one in followed(altered.lines)[1].divergences]
        assert any(altered.expected in text for text in said), (altered.pod, said)


def test_the_documentation_lists_the_kinds_with_their_numbers() -> None:
    text = EXPLAIN.read_text()
    found = Counter(one.kind for one in ALTERATIONS)
    assert [kind for kind, n in found.items() if f"| {kind} | {n} | {n} |" not in text] == []
    assert f"| all | {len(ALTERATIONS)} | {len(ALTERATIONS)} |" in text

"""Statements about nodes whose version differs from that of the rules."""

from __future__ import annotations

import pytest

from kubesim.attach.reading.versions import differences
from kubesim.features.differences import DIFFERENCES


def test_the_measured_version_has_no_differences() -> None:
    assert differences("v1.36.4") == differences("v1.36.4-gke.100") == ()
    (note,) = differences("v1.36.40")
    assert "other patch releases" in note


@pytest.mark.parametrize(
    ("version", "words", "is_said"),
    [
        ("v1.35.2", "reported by the next relist", True),
        ("v1.35.2", "every 10 to 15 s", False),
        ("v1.34.11", "every 10 to 15 s", True),
        ("v1.34.11", "Created container: NAME", True),
        ("v1.34.11", "observedGeneration", False),
        ("v1.33.0", "observedGeneration", True),
        ("v1.33.0", "in-place resize is off", False),
        ("v1.32.9", "in-place resize is off", True),
        ("v1.29.0", "sidecars", False),
        ("v1.28.15", "sidecars", True),
    ],
)
def test_a_difference_is_reported_from_the_version_that_introduced_it(version: str, words: str, is_said: bool) -> None:
    assert any(words in text for text in differences(version)) is is_said


def test_older_nodes_have_more_differences() -> None:
    counts = [len(differences(f"v1.{minor}.0")) for minor in range(28, 36)]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(("version", "words"), [("v1.38.0", "newer rules are not known"), ("dev", "is not known")])
def test_unknown_differences_are_reported_as_unknown(version: str, words: str) -> None:
    (note,) = differences(version)
    assert words in note


def test_a_newer_version_differs_as_its_profile_does() -> None:
    notes = differences("v1.37.0")
    rows = [row for row in DIFFERENCES if "v1.37" in row.values]
    assert {row.what for row in rows} < {*notes}
    assert any("huge pages" in text for text in notes)  # a gate that is enabled there
    assert not any("protocol: HTTP2" in text for text in notes)  # a gate that is disabled there

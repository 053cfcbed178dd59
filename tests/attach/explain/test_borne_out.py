"""What `explain` says about every status of the recorded stories is what the next statuses show."""

from __future__ import annotations

from pathlib import Path

from tools.borne_out import shares, table

DOCS = Path(__file__).parent.parent.parent.parent / "docs" / "explain.md"


def test_the_next_statuses_bear_out_what_is_said() -> None:
    alone, watched, wrong = shares()
    assert wrong == []
    assert alone.total() == watched.total() > 400
    # A statement that names everything as possible would be true and worth nothing.
    assert alone["as said"] > 0.6 * alone.total()


def test_the_table_in_the_docs_is_true() -> None:
    assert table() in DOCS.read_text()

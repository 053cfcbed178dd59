"""Each recorded status is consistent with the statement of `explain` about the previous one."""

from __future__ import annotations

from pathlib import Path

from tools.borne_out import shares, table

DOCS = Path(__file__).parent.parent.parent.parent / "docs" / "explain.md"


def test_the_next_statuses_match_the_statement() -> None:
    alone, watched, wrong = shares()
    assert wrong == []
    assert alone.total() == watched.total() > 400
    # A statement that lists everything as possible would be true but useless.
    assert alone["as said"] > 0.6 * alone.total()


def test_the_table_in_the_docs_is_current() -> None:
    assert table() in DOCS.read_text()

"""Rows of Tables that a real API server v1.36.4 answered, from the same objects."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.cluster.tables.rules import table_of
from kubesim.cluster.tables.table import TableContext

DATA = Path(__file__).parent.parent / "data" / "tables.jsonl.gz"
ROWS = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['kind']}-{row['object']['metadata']['name']}" for row in ROWS])
def test_a_row_is_the_servers(row: dict[str, Any]) -> None:
    rules = table_of(row["kind"])
    assert [[column.name, column.type, column.priority] for column in rules.columns] == row["columns"]
    assert list(rules.cells(row["object"], TableContext(row["now"] * SECOND, wide=True))) == row["cells"]


def test_there_are_rows_of_every_state_of_a_pod() -> None:
    assert len([row for row in ROWS if row["kind"] == "Pod"]) >= 25

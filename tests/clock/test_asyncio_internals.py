"""docs/design.md lists the private parts of asyncio that the clock overrides or uses, and this Python has them."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent
ROW = re.compile(r"^\| `(\w+)\.(\w+)` \| 3\.(\d+) to 3\.(\d+) \| .+ \|$", re.MULTILINE)


class Row(NamedTuple):
    """A line of the table: this class of asyncio has this attribute from the first version to the last."""

    owner: str
    name: str
    first: int
    last: int


LISTED = [
    Row(owner, name, int(first), int(last))
    for owner, name, first, last in ROW.findall((ROOT / "docs" / "design.md").read_text())
]


def of_asyncio() -> dict[str, set[str]]:
    """The attributes of asyncio's own objects, by class."""

    async def own_task() -> object:
        return asyncio.current_task()

    loop = asyncio.SelectorEventLoop()
    try:
        examples = (loop, loop.call_soon(bool), loop.call_later(1, bool), loop.run_until_complete(own_task()))
        classes = (asyncio.SelectorEventLoop, asyncio.Handle, asyncio.TimerHandle, asyncio.Task)
        names = ("SelectorEventLoop", "Handle", "TimerHandle", "Task")
        assert all(map(isinstance, examples, classes))
        return {name: set(dir(example)) for name, example in zip(names, examples, strict=True)}
    finally:
        loop.close()


def attributes(tree: ast.Module) -> Iterator[str]:
    """Attributes that the code reads, sets or defines: `x._name`, `getattr(x, "_name")`, a slot, a method."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                yield name
            case ast.ClassDef(body=body):
                yield from (method.name for method in body if isinstance(method, ast.FunctionDef))


def used_by_the_clock() -> set[str]:
    sources = sorted((ROOT / "kubesim" / "clock").rglob("*.py"))
    names = {name for path in sources for name in attributes(ast.parse(path.read_text()))}
    private = {name for name in names if re.fullmatch(r"_[a-z]\w*", name)}
    return private & set().union(*of_asyncio().values())


def test_the_table_lists_what_the_clock_uses() -> None:
    assert {row.name for row in LISTED} == used_by_the_clock()


@pytest.mark.parametrize("row", LISTED, ids=lambda row: f"{row.owner}.{row.name}")
def test_this_python_has(row: Row) -> None:
    assert row.name in of_asyncio()[row.owner]
    assert row.first <= sys.version_info.minor <= row.last

"""Text in columns, as Go's tabwriter formats it: adjacent cells of a column have the same width.

Mirrors: text/tabwriter (padding with spaces, no flags)
"""

from __future__ import annotations

from collections.abc import Sequence


def aligned(text: str, *, least: int = 0, padding: int = 2) -> str:
    """The text with tabs replaced by padding. A tab ends a cell; text after the last tab is in no column."""
    lines = [line.split("\t") for line in text.split("\n")]
    out: list[str] = []
    _format(lines, 0, len(lines), [], out, least, padding)
    return "\n".join(out)


def _format(
    lines: Sequence[list[str]], begin: int, end: int, widths: list[int], out: list[str], least: int, padding: int
) -> None:
    """Format the lines of a column block; consecutive lines with another cell form the next block."""
    column, at = len(widths), begin
    while at < end:
        if column >= len(lines[at]) - 1:
            at += 1
            continue
        out += (_line(line, widths) for line in lines[begin:at])
        begin = at
        while at < end and column < len(lines[at]) - 1:
            at += 1
        width = max(least, *(len(line[column]) + padding for line in lines[begin:at]))
        _format(lines, begin, at, [*widths, width], out, least, padding)
        begin = at
    out += (_line(line, widths) for line in lines[begin:end])


def _line(cells: list[str], widths: list[int]) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)) + "".join(
        cells[len(widths) :]
    )

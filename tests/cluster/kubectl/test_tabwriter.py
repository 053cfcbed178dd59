"""Columns as Go's tabwriter formats them."""

from __future__ import annotations

from kubesim.cluster.kubectl.tabwriter import aligned


def test_cells_in_a_column_have_equal_width() -> None:
    assert aligned("a\tb\tc\nlonger\tb\tc\n") == "a       b  c\nlonger  b  c\n"


def test_a_line_without_the_column_ends_the_block() -> None:
    assert aligned("a\tb\nno columns here\nlonger\tb\n") == "a  b\nno columns here\nlonger  b\n"


def test_the_last_cell_of_a_line_is_in_no_column() -> None:
    assert aligned("a\tvery long text\nb\tc\td\n") == "a  very long text\nb  c  d\n"


def test_minimum_width_and_padding() -> None:
    assert aligned("A\tB\n1\t2\n", least=6, padding=3) == "A     B\n1     2\n"
    assert aligned("NAMES\tB\n1\t2\n", least=6, padding=3) == "NAMES   B\n1       2\n"


def test_an_empty_last_cell_keeps_the_padding() -> None:
    assert aligned("IP:\t\nIPs:\tx\n") == "IP:   \nIPs:  x\n"

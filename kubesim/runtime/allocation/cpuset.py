"""CPU sets in Linux's list format: `0-3,7`.

Mirrors: k8s.io/utils/cpuset
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kubesim.golang.text import quoted

CpuSet = frozenset[int]
NO_CPUS: CpuSet = frozenset()
_NUMBER = re.compile(r"[+-]?[0-9]+")


def format_cpus(cpus: Iterable[int]) -> str:
    """The sorted list, with consecutive CPUs as a range."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def parse_cpus(text: str) -> CpuSet:
    """Parse a list. Raises ValueError with upstream's message."""
    if not text:
        return NO_CPUS
    found: set[int] = set()
    for part in text.split(","):
        ends = part.split("-", 1)
        first, last = _number(ends[0]), _number(ends[-1])
        if first > last:
            raise ValueError(f"invalid range {quoted(part)} ({first} > {last})")
        found.update(range(first, last + 1))
    return frozenset(found)


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"strconv.Atoi: parsing {quoted(text)}: invalid syntax")
    return int(text)

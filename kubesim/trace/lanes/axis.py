"""The time axis of a picture: the positions and labels of its ticks."""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.golang.text import duration

_MILLISECOND = 1_000
_STEPS = [factor * unit for unit in (1, 10, 100) for factor in (1, 2, 5)]  # milliseconds
_STEPS += [1_000 * step for step in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800)]
_DAY = 86_400_000


def ticks(end: int, most: int = 10) -> Sequence[tuple[int, str]]:
    """Round times from 0 to `end` (microseconds) with their labels; at most `most`, not counting 0."""
    span = max(end, 1)
    steps = (*_STEPS, *(_DAY * days for days in (1, 2, 7, 14, 30, 90, 365)))
    step = next((step for step in steps if span <= step * _MILLISECOND * most), steps[-1]) * _MILLISECOND
    return [(t, _text(t)) for t in range(0, span + 1, step)]


def _text(t: int) -> str:
    """A duration in Go's format without trailing zero units: `5m`, not `5m0s`."""
    text = duration(t)
    for zero in ("m0s", "h0m"):
        text = text.removesuffix(zero) + zero[0] if text.endswith(zero) else text
    return text

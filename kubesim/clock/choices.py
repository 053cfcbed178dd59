"""`Choices`: random draws that a scenario decides instead of the seed, such as the channel that a select takes.

A choice names a stream of draws, the number of a draw in it, and the end of its range that it takes. The seed's value
is drawn all the same, so all other draws stay as they were.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from kubesim.values import mutable, value_object

End = Literal["low", "high"]
NEARLY_ONE = 1 - 2**-20
_DRAWN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+")


@value_object
class RecordedDraw:
    """A draw of a run: its stream, its number there, and where in its range it is; "" is between the ends."""

    stream: str  # `node-1/syncloop/select`
    number: int
    end: End | Literal[""]


@mutable(eq=False)
class Choices:
    """The choices of a run, by stream and number. With a `log`, it receives all draws."""

    given: Mapping[tuple[str, int], End]
    log: list[RecordedDraw] | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def fraction(self, stream: str, drawn: float) -> float:
        """A number in [0, 1)."""
        end = self._end(stream, "")
        return drawn if end is None else 0.0 if end == "low" else NEARLY_ONE

    def index(self, stream: str, drawn: int, below: int) -> int:
        """A whole number in [0, below)."""
        end = self._end(stream, "low" if drawn == 0 else "high" if drawn == below - 1 else "")
        return drawn if end is None else 0 if end == "low" else below - 1

    def _end(self, stream: str, drawn: End | Literal[""]) -> End | None:
        self.counts[stream] += 1
        number = self.counts[stream]
        if self.log is not None:
            self.log.append(RecordedDraw(stream, number, drawn))
        return self.given.get((stream, number))


def stream_name(names: Sequence[str]) -> str:
    """The name of a stream in a scenario: `probe/*/main/readiness`. Ids and numbers are drawn themselves."""
    return "/".join("*" if _DRAWN.fullmatch(name) else name for name in names)

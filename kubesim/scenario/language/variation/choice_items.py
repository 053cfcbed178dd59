"""Choices of a scenario: random draws that take an end of their range."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kubesim.scenario.language.strict import Located

TIES = "ties"  # the order of timers of the same instant


class ChoiceItem(Located):
    """A draw that is not random: the channel that a select takes, a jitter, or the order of a tie."""

    draw: str = Field(min_length=1)  # the name of the stream: `node-1/syncloop/select`, `ties`
    nth: int = Field(default=1, ge=1)  # its number among the draws of this name
    take: Literal["low", "high"]  # the end of the range; of several channels or timers: the first or the last

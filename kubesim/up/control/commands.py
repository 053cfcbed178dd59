"""The commands that another program sends about the clock, and their effect on the loop.

A command is a JSON object: {"command": "now" | "pause" | "resume"}, {"command": "advance", "duration": "5m"},
{"command": "speed", "speed": 20}. The answer is the state of the clock, or {"error": TEXT}.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.api.timestamps import format_micro_time
from kubesim.clock import LoopClock, VirtualLoop
from kubesim.errors import UsageError
from kubesim.golang.durations import parse_duration
from kubesim.values import value_object

NAMES = ("now", "advance", "pause", "resume", "speed")
_ARGUMENTS = {"advance": "duration", "speed": "speed"}
MIN_SPEED, MAX_SPEED = 0.001, 1_000_000.0
LAST = 32_503_680_000_000_000  # the year 3000, in microseconds


@value_object
class ClockCommand:
    """`duration` is microseconds."""

    name: str
    duration: int = 0
    speed: float = 0.0


def parse_command(line: bytes) -> ClockCommand:
    """Read a request. Raises UsageError."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("the request is no JSON") from None
    name = value.get("command") if isinstance(value, dict) else None
    if name not in NAMES:
        raise UsageError(f"the command must be one of {', '.join(NAMES)}")
    allowed = {"command", _ARGUMENTS.get(name, "command")}
    if value.keys() - allowed:
        raise UsageError(f"{name} does not take {', '.join(sorted(value.keys() - allowed))}")
    if name == "advance":
        return ClockCommand(name, duration=_duration(value.get("duration")))
    if name == "speed":
        return ClockCommand(name, speed=_speed(value.get("speed")))
    return ClockCommand(name)


def _duration(value: Any) -> int:
    if not isinstance(value, str) or len(value) > 100:
        raise UsageError("advance needs a duration such as 5m or 1m30s")
    try:
        micros = parse_duration(value)
    except ValueError as error:
        raise UsageError(f"advance: {error}") from None
    if micros <= 0:
        raise UsageError("advance: the duration must be longer than 0")
    return micros


def _speed(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not MIN_SPEED <= value <= MAX_SPEED:
        raise UsageError(f"speed needs a number from {MIN_SPEED:g} to {MAX_SPEED:g}")
    return float(value)


class ClockControls:
    """Executes commands, one after the other. `settle` waits until the nodes are up to date."""

    def __init__(self, clock: LoopClock, settle: Callable[[], Awaitable[None]] | None = None) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._clock = clock
        self._loop = loop
        self._settle = settle
        self._turn = asyncio.Lock()

    async def execute(self, command: ClockCommand) -> dict[str, Any]:
        """Returns the state of the clock. Raises UsageError."""
        if command.name == "now":
            return self.state()
        async with self._turn:
            if command.name == "advance":
                await self._advance(command.duration)
            elif command.name == "speed":
                self._loop.pace(command.speed)
            elif command.name == "pause":
                self._loop.pause()
            else:
                self._loop.resume()
        return self.state()

    async def _advance(self, duration: int) -> None:
        if self._clock.now() + duration > LAST:
            raise UsageError("advance: the clock of the cluster would pass the year 3000")
        if self._settle is not None:
            await self._settle()
        await self._loop.fast_forward(duration)
        if self._settle is not None:
            await self._settle()

    def state(self) -> dict[str, Any]:
        now = f"{format_micro_time(self._clock.now())[:-1]}Z"
        return {"now": now, "speed": self._loop.speed, "paused": self._loop.paused}

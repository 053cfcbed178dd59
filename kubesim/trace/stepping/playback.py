"""Playback of a trace: virtual seconds per real second, until a break or the end."""

from __future__ import annotations

from kubesim.trace.stepping.stepper import Stepper

SPEEDS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)


class Playback:
    """The state of the playback; `passed` moves a stepper by the elapsed time."""

    def __init__(self) -> None:
        self.playing = False
        self.speed = 1.0
        self._now = 0.0  # position in the run, in microseconds

    @property
    def text(self) -> str:
        """Text for the title during playback."""
        return f"  playing at {self.speed:g}x" if self.playing else ""

    def key(self, key: str, stepper: Stepper) -> str:
        """Handle a key: `r` starts and stops, `+` and `-` change the speed. Returns a message."""
        if key == "r":
            self.playing = not self.playing
            self._now = float(stepper.here.t)
            return ""
        index = SPEEDS.index(self.speed) + (1 if key == "+" else -1)
        self.speed = SPEEDS[max(0, min(index, len(SPEEDS) - 1))]
        return "" if self.playing else f"r plays at {self.speed:g} virtual seconds per second"

    def stop(self) -> None:
        self.playing = False

    def passed(self, elapsed: int, stepper: Stepper) -> str:
        """Advance by `elapsed` microseconds of real time. Returns why playback stopped, if it did."""
        self._now += elapsed * self.speed
        while True:
            position = stepper.position
            if not stepper.forward():
                self.playing = False
                return "this is the last decision of the run"
            if stepper.here.t > self._now:
                stepper.position = position
                return ""
            stopped = stepper.stopped_by(stepper.here)
            if stopped is not None:
                self.playing = False
                return f"stopped by the break {stopped.text}"

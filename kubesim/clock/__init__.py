"""Time: one `Clock` interface for virtual and real time."""

from kubesim.clock.awaited import Awaited
from kubesim.clock.clock import Clock, LoopClock, external
from kubesim.clock.loop.running import run_virtual
from kubesim.clock.loop.virtual import NEVER, VirtualLoop, go, wake
from kubesim.clock.randomness import Randomness

__all__ = [
    "NEVER", "Awaited", "Clock", "LoopClock", "Randomness", "VirtualLoop", "external", "go", "run_virtual", "wake",
]  # fmt: skip

"""Time: one `Clock` interface for virtual and real time."""

from kubesim.clock.awaited import Awaited
from kubesim.clock.clock import Clock, LoopClock, external
from kubesim.clock.randomness import Randomness
from kubesim.clock.running import run_virtual
from kubesim.clock.virtual import NEVER, VirtualLoop, go, wake

__all__ = [
    "NEVER", "Awaited", "Clock", "LoopClock", "Randomness", "VirtualLoop", "external", "go", "run_virtual", "wake",
]  # fmt: skip

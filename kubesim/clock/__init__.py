"""Time: one `Clock` for everything, virtual or real."""

from kubesim.clock.clock import Clock, LoopClock, external
from kubesim.clock.randomness import Randomness
from kubesim.clock.virtual import VirtualLoop, go, run_virtual, wake

__all__ = ["Clock", "LoopClock", "Randomness", "VirtualLoop", "external", "go", "run_virtual", "wake"]

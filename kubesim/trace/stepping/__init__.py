"""Walking through a trace: the position, the node's state there, why, and what comes next.

Nothing here reads a key or writes a screen by itself, so that a terminal, a script and a test can drive it.
"""

from kubesim.trace.stepping.conditions import RecordCondition
from kubesim.trace.stepping.stepper import Stepper

__all__ = ["RecordCondition", "Stepper"]

"""The stepper: a position in a trace, the node's state there, the causes, and the next steps.

Nothing here reads keys or writes to a screen, so a terminal, a script or a test can drive it.
"""

from kubesim.trace.stepping.conditions import RecordCondition
from kubesim.trace.stepping.stepper import Stepper

__all__ = ["RecordCondition", "Stepper"]

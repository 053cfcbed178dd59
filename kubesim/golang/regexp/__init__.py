"""Regular expressions that match in linear time, like Go's package regexp.

`compile_regexp` accepts POSIX syntax (basic or extended, with the longest match) or Go's. No user-supplied expression
can block a run for long.
"""

from kubesim.golang.regexp.machine import Expression, Match, TooMuchWork
from kubesim.golang.regexp.syntax import BadExpression, Dialect, compile_regexp

__all__ = ["BadExpression", "Dialect", "Expression", "Match", "TooMuchWork", "compile_regexp"]

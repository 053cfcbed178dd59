"""Regular expressions that are matched in linear time, as Go's package regexp does.

`compile_regexp` takes the syntax of POSIX (basic or extended, where the longest match counts) or that of Go. For
expressions that strangers write: there is none that keeps a run busy for long.
"""

from kubesim.golang.regexp.machine import Expression, Match, TooMuchWork
from kubesim.golang.regexp.syntax import BadExpression, Dialect, compile_regexp

__all__ = ["BadExpression", "Dialect", "Expression", "Match", "TooMuchWork", "compile_regexp"]

"""Comparison of two traces: the first difference, its causes on both sides, and its effects.

Pure: records in, a `TraceComparison` out. `cli/diff.py` creates the traces and prints the result.
"""

from kubesim.trace.compare.comparison import TraceComparison, compare
from kubesim.trace.compare.saved import read_trace

__all__ = ["TraceComparison", "compare", "read_trace"]

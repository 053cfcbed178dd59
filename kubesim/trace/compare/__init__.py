"""Two traces beside each other: the first difference, the causes of it on both sides, and what follows from it.

Pure: records in, a `TraceComparison` out. `cli/diff.py` creates the traces and prints the result.
"""

from kubesim.trace.compare.comparison import TraceComparison, compare
from kubesim.trace.compare.saved import read_trace

__all__ = ["TraceComparison", "compare", "read_trace"]

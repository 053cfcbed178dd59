"""The trace: its records, the recorder, and the hash of a run."""

from kubesim.trace.hashing import HashSink, trace_hash
from kubesim.trace.recorder import MemorySink, Recorder, Sink
from kubesim.trace.records import Record

__all__ = ["HashSink", "MemorySink", "Record", "Recorder", "Sink", "trace_hash"]

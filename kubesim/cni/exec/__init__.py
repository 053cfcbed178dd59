"""Plugin execution: the process, its context and environment, faults, recording and replay."""

"""Faults: which operations of a run fail and how, and the wrappers that make them fail. Only files with faults, or with
steps that come before or after an operation, import this."""

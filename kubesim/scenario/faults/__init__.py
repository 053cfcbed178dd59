"""Faults: the wrappers that make operations of a run fail.

Only scenarios with faults, or with steps before or after an operation, import this package.
"""

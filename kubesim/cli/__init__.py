"""The command line: one module per command. Heavy imports are inside functions."""

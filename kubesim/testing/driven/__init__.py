"""A simulated cluster that a test drives: time stands still until the test advances it."""

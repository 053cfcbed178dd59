"""A simulated cluster controlled by a test: time stands still until the test advances it."""

"""A simulated cluster controlled by a test: time is stopped until the test advances it."""

"""A simulated cluster that a test drives: time stands still except when the test lets it continue."""

"""Dynamic resource allocation: prepares resource claims before a pod starts and unprepares them after it has ended."""

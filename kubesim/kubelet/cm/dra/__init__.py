"""Dynamic resource allocation: resource claims are prepared before a pod starts, and unprepared after it has ended."""

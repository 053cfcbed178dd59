"""One worker per pod: the pure state machine of its lifecycle, and the task that runs it."""

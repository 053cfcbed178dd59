"""The event loop in virtual time: its queues, its pace against the wall clock, and programs that run on it."""

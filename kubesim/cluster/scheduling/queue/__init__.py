"""The scheduling queue: pods that are ready, backing off, or unschedulable."""

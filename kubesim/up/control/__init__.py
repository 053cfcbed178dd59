"""The clock of a running cluster in the hand of another program: one line of JSON each way over a local socket."""

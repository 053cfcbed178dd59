"""Pure decisions from the pods of a Job: indexes, failures, back-off, policies, completion."""

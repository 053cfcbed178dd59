"""Where the pods of a scenario come from."""

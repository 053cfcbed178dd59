"""Decision rules: their closed list, and those that runs reach."""

"""The search: parts that decide what to run next, shrinking, and the driver that plays their runs."""

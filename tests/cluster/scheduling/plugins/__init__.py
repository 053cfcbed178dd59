"""Scheduler plugins, compared with the tables in upstream's tests at v1.36.4."""

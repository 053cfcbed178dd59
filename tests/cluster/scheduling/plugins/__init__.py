"""Plugins of the scheduler, against the tables of upstream's own tests at v1.36.4."""

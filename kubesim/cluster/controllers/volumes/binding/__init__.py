"""The PV controller, which binds claims and volumes: pure decisions, and their execution."""

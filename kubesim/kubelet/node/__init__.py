"""The Node object: registration, lease, conditions; and graceful shutdown."""

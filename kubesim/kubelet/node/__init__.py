"""The node itself: registration, lease, conditions, graceful shutdown."""

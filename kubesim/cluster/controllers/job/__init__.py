"""The Job controller, and the TTL controller that deletes finished Jobs."""

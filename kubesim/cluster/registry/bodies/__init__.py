"""Request bodies: an object to store, or a patch of one."""

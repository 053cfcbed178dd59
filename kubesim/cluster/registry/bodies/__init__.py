"""What the body of a request says: an object to store, or a patch of one."""

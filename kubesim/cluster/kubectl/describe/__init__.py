"""`kubectl describe`: an object with its related objects."""

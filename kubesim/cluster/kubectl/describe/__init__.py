"""What `kubectl describe` prints of an object and of what belongs to it."""

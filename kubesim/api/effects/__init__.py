"""Fields of objects that kubesim accepts and stores, but that have no effect in it."""

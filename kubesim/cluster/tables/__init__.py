"""The API server's tables: columns of a kind, and cells of an object."""

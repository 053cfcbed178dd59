"""The tables of an API server: the columns of a kind, and the cells of an object, as JSON, at a moment."""

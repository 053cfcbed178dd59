"""The tables of an API server: which columns a kind has, and what an object, as JSON, says in them at a moment."""

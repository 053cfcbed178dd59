"""Which pods go, and where."""

"""A scenario put together from several files, and its runs with other values."""

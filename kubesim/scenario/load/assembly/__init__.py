"""A scenario assembled from several files, and its runs with other values."""

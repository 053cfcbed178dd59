"""The watch-only agent of one node: its follower, its views and its permissions."""

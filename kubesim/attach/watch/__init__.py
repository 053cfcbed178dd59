"""The watch-only agent of one node: following it, its views and its access rights."""

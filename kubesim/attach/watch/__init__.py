"""The watch-only agent of one node: following it, its twin, its views and its access rights."""

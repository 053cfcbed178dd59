"""Runs as pictures and as a page: `-o svg`, `-o mermaid`, `--report`."""

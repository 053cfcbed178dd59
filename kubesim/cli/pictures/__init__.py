"""Runs as pictures and as an HTML report: `-o svg`, `-o mermaid`, `--report`."""

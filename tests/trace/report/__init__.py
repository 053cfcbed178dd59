"""The report: its data, its page, and what a browser shows of it."""

"""The report: its data, its page, and the page in a browser."""

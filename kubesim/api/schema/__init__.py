"""The API types as data, and their JSON reader and writer with Go's behaviour."""

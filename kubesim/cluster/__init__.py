"""The in-memory API server, its controllers, and the connection to a real API server."""

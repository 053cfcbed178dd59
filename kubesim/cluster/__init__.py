"""The API server in memory, its controllers, and the connection to a real API server."""

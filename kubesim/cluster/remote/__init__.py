"""The connection to a real API server: credentials, transport, read-only by default."""

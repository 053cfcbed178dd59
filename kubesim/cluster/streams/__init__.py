"""Streams into containers, as API servers offer them: many channels on one connection, over WebSocket or SPDY/3.1."""

"""Streams into containers: multiplexed channels over WebSocket or SPDY/3.1."""

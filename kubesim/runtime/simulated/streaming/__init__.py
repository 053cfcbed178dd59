"""Streams of clients into simulated containers and pods: exec, attach, port forwarding."""

"""gRPC health checks over HTTP/2 in clear text, for a probe and the server of a simulated container: pure, no sockets.

`client.HealthCall` asks, `server.HealthServer` answers; the owner of the connection carries their bytes. HTTP/2 itself
is h2's part. Only runs with real networks import this.
"""

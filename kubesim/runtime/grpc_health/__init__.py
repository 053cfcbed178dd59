"""gRPC health checks over HTTP/2 in clear text, as far as a probe and its server need it: pure, without sockets.

`client.HealthCall` asks, `server.HealthServer` answers; whoever has the connection carries their bytes. Only runs with
real networks import this.
"""

"""gRPC health checks over clear-text HTTP/2, for probes and simulated servers. Pure: no sockets.

`client.HealthCall` sends a request, `server.HealthServer` responds; the owner of the connection transfers their bytes.
h2 implements HTTP/2. Only runs with real networks import this.
"""

"""The network between a node and its pods: probes, HTTP hooks, gRPC health checks, real sockets."""

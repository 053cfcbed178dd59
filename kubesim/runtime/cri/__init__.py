"""CRI over gRPC, in both directions: a client of real runtimes, and a server in front of a simulated one."""

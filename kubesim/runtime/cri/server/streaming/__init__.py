"""The streaming server: exec, attach and port forwarding over HTTP."""

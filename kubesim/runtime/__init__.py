"""Container runtimes: the CRI-shaped protocol, the types of the kubelet's view, the tracing wrapper."""

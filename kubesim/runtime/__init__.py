"""Container runtimes: the CRI-shaped protocol, runtime types, and the tracing wrapper."""

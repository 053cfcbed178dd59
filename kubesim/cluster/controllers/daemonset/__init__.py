"""The DaemonSet controller: one pod on each matching node."""

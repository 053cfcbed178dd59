"""The DaemonSet controller: one pod on each node that fits."""

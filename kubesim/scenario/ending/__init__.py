"""When a run is idle, and what has become of its pods and workloads when it is over."""

"""When a run is at rest, and what has become of its pods and workloads when it is over."""

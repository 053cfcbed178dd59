"""The container manager: which CPUs, memory, devices and claims of the node a container gets, and which containers may
not start."""

"""The container manager: assigns CPUs, memory, devices and claims of the node to containers."""

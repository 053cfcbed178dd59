"""The topology manager: aligns what a container gets with the NUMA nodes of the machine."""

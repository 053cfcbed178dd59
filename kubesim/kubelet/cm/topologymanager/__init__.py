"""The topology manager: aligns a container's resources with the NUMA nodes of the machine."""

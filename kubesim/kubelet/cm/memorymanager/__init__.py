"""The memory manager: pins the memory of Guaranteed pods to NUMA nodes."""

"""The controllers of a cluster: node health, taints, eviction by taint, volume binding."""

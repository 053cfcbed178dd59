"""Does a pod fit on a node? Affinity, taints, resources and ports, for the scheduler and the kubelet."""

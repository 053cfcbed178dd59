"""The status of a pod, computed from what the kubelet knows. All pure."""

"""The container statuses in a pod's status. All pure."""

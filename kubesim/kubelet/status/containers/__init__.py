"""Container statuses in a pod's status. All functions are pure."""

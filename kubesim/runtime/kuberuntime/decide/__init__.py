"""The pure decisions of the runtime manager, first of all compute_pod_actions."""

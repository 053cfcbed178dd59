"""Pure decisions of the runtime manager, mainly compute_pod_actions."""

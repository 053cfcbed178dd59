"""Docker sandboxes of old kubelets: dockershim (v1.12) and dockertools (v1.6)."""

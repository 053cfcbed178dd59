"""From files to a checked scenario: YAML with line numbers, manifests, kubelet configuration."""

"""containerd's pod sandboxes on a real machine with real CNI plugins."""

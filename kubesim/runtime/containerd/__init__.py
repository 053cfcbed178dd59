"""Pod sandboxes as containerd runs them: on a real machine, with real CNI plugins."""

"""The simulated container runtime: sandboxes, containers and images in virtual time."""

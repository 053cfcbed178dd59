"""Client streams into simulated containers and pods: exec, attach, port forwarding."""

"""What a container gets from the kubelet: environment, HTTP hooks, log rotation, removal."""

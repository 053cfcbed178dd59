"""Container helpers of the kubelet: environment, HTTP hooks, log rotation, deletion."""

"""What the API server gives a Service: cluster IPs and node ports."""

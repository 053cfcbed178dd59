"""The HTTPS port of simulated kubelets, for an API server in another process; and the API server's side of it."""

"""Names that expectations use: which exist in Kubernetes, and which a scenario can make."""

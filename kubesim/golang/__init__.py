"""JSON, YAML, durations, text and addresses as Go reads and prints them. Nothing here knows Kubernetes."""

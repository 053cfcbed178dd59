"""External disturbances of containers: frozen processes, and slow or failed dependencies."""

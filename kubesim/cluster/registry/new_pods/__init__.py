"""What a client is warned about when it writes a pod, and the Pod Security Standards."""

"""kubesim explore."""

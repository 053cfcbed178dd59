"""The command `kubesim explore`."""

"""The node agent, attached: kubesim's own kubelet with the pods of a live API server, which it never writes to."""

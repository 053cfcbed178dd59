"""Observes a real kubelet from outside: explains its pods, and predicts its next actions."""

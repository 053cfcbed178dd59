"""Deployment: a ReplicaSet per template, and the rollout from one to the next."""

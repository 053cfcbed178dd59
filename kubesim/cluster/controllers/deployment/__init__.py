"""Deployment: one ReplicaSet per template, and rollouts between them."""

"""Warnings about new pods, and the Pod Security Standards."""

"""Checks the names in expectations: whether they exist in Kubernetes, and whether the scenario can create them."""

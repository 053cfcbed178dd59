"""Defaults and validation of the kinds that controllers reconcile."""

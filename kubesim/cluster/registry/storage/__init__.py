"""Admission of claims and volumes."""

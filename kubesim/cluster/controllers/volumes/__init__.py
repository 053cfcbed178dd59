"""Controllers of claims and volumes."""

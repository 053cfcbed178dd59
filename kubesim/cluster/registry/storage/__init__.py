"""What the API server does to claims and volumes beyond validation."""

"""What containers use: statistics and metrics."""

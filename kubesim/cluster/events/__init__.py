"""What becomes of Events on their way to the API server, as client-go does it."""

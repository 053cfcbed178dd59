"""Events on their way to the API server, as in client-go."""

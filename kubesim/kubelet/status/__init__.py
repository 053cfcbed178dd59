"""Pod status: pure functions generate it; the status manager writes it to the API server."""

"""List and watch of a collection at an API server, with retries."""

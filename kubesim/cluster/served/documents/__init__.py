"""Documents about the server itself: discovery, OpenAPI, health."""

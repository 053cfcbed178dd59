"""What the server says about itself: discovery, OpenAPI, health."""

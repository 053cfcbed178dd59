"""Images of the served runtime: their identity, and the calls of ImageService."""

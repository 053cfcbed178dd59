"""Images: references, pull policy and back-off, credentials, and pull records."""

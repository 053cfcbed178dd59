"""Images: references, pull policy and back-off, credentials, and the records of earlier pulls."""

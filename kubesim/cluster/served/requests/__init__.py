"""Parts of a request: the options in its query, and the object in its body."""

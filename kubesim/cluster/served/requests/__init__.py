"""What a request says: the options in its query, and the object in its body."""

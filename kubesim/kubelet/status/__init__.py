"""A pod's status: the pure half computes what it should say, the status manager says it to the API server."""

"""Results of a search as lines of JSON, and the results of all its shards put together."""

"""The actions of a scenario at the API server, as a kubectl user would do them."""

"""The actions of a scenario at the API server, like those of a kubectl user."""

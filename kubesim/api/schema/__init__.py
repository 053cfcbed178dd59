"""The types of the API as data, and JSON read and written by them the way Go does it."""

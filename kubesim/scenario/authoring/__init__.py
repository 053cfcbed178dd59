"""Tools for scenario authors: a checker that reports all mistakes of a file, a formatter, the JSON Schema, a starter
file."""

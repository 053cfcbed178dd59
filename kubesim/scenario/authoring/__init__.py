"""For those who write scenarios: all mistakes of a file, a formatter, the JSON Schema, a file to begin with."""

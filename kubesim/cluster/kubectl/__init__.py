"""kubectl's output formats: tables, paths, YAML, descriptions, Events. Pure: JSON objects in, text out."""

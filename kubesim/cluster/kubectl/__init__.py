"""What kubectl makes of objects: tables, paths, YAML, descriptions, Events. Pure: objects as JSON in, text out."""

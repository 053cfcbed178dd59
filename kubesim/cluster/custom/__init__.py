"""Custom resources: their definitions, and objects decoded, defaulted and validated by a schema."""

"""Custom resources: the definitions that declare them, and objects read, defaulted and validated by a schema."""

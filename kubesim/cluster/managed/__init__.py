"""Managed fields and server-side apply: which manager set which field of an object. All pure."""

"""Managed fields and server-side apply. All pure."""

"""Kinds that controllers act on: types, defaults and validation. Imported when a manifest has one of them."""

"""Kinds that controllers reconcile: types, defaults and validation. Imported when a manifest uses one of them."""

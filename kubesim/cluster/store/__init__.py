"""The store of the API server: objects, resource versions, watches, selectors."""

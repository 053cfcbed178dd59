"""The garbage collector, which deletes objects whose owners are gone, and the deletion of namespaces."""

"""The garbage collector, which deletes objects whose owners are gone, and the namespace controller."""

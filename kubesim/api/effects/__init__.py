"""Fields of objects that are accepted and stored, and that nothing here acts on."""

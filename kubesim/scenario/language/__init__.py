"""The types of a scenario document. Unknown fields are errors."""

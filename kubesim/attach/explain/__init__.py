"""Explains one observed pod: its state, the rule that keeps it there, and what happens next and when."""

"""The stepper: the view of the whole screen in a terminal, and lines for a script."""

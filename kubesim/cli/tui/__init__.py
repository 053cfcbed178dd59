"""The stepper: a full-screen view on a terminal, or plain lines for a script."""

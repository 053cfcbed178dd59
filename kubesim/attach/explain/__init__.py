"""The explanation of one observed pod: its state, the rule that holds it, what follows and when."""

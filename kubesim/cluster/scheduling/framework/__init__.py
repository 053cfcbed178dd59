"""The scheduling framework: what a plugin is, what the scheduler knows of the nodes, and the cycle of one pod."""

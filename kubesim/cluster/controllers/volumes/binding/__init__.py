"""The controller that binds claims and volumes to each other: pure decisions, and the shell that carries them out."""

"""The sandbox operations of dockershim and dockertools, and their checkpoints."""

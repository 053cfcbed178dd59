"""The machine under a node: its topology, and the plugins and drivers of its devices."""

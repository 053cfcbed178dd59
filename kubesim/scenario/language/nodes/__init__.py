"""What a scenario says about a node: its files and profiles, its machine, its devices."""

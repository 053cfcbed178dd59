"""Playing a scenario: the player, the cluster and nodes that it acts on, expectations."""

"""ReplicaSet and ReplicationController: keep the requested number of pods running."""

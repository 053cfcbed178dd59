"""ReplicaSet and ReplicationController: as many pods of one template as requested."""

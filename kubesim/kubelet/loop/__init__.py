"""The sync loop: its handlers, housekeeping, and the sync of one pod."""

"""The sync loop: its events, their handlers, housekeeping, and the sync of one pod."""

"""Leaked network resources: the ledger of attachments, the inventory of a machine, and the cleanup."""

"""Leaked networks: the ledger of attachments, the inventory of a machine, and the clean-up."""

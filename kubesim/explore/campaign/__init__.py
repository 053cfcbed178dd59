"""Campaigns: searches one after the other, of scenarios, profiles and seeds that are drawn."""

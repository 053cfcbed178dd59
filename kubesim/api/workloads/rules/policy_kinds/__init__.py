"""Kinds that limit others: access, quotas, autoscalers, disruption budgets."""

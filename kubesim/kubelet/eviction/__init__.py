"""Eviction under node pressure: thresholds on signals, ranking of pods, the manager that evicts one pod at a time.

thresholds.py  what is configured          stats.py     what is measured
pressure.py    which thresholds are met    ranking.py   which pod goes first
messages.py    the texts of evictions      limits.py    pods beyond their own storage limits
signals.py     names, resources and node conditions of what is measured
manager.py     the loop that checks every ten seconds, and the admission while there is pressure
"""

"""Eviction under node pressure: thresholds on signals, ranking of pods, and the eviction manager.

thresholds.py  configured thresholds          stats.py     measurements
pressure.py    met thresholds over time       ranking.py   order of eviction
messages.py    eviction messages              limits.py    pods above their own storage limits
signals.py     names, resources and node conditions of the signals
manager.py     the check every ten seconds, and admission under pressure
"""

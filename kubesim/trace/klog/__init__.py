"""The log that a kubelet v1.36 would write during a run: another view of the trace.

`lines.py` maps records to the kubelet's own log lines, `form.py` writes a line as klog or as JSON, `redact.py` removes
secrets, and `logger.py` connects these as processors of structlog. Only `logger.py` imports structlog; import it only
where a log is requested.
"""

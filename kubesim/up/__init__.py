"""`kubesim up`: a cluster in one process for real clients, in real time or faster."""

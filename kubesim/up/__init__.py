"""`kubesim up`: a cluster in one process that real clients talk to, in real time or faster."""

"""Recorded cases of the real kubelet, replayed and compared."""

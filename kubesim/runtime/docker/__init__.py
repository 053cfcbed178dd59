"""Sandboxes as kubelets made them with docker: dockershim (v1.12) and dockertools (v1.6)."""

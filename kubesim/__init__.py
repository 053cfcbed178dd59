"""kubesim: the kubelet you can open. See README.md and docs/design.md."""

__version__ = "0.4.0"

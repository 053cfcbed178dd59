"""kubesim: the kubelet you can open. See README.md and docs/design.md."""

__version__ = "0.5.0"

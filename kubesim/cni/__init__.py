"""Container networking: libcni, go-cni and containerd's pod networking, in Python.

Usable on its own: `libcni.CNIConfig` runs the CNI commands over a chain of plugins, `gocni.CNI` loads networks and
attaches pods to them, `skel` helps to write plugins. See `docs/cni.md`.
"""

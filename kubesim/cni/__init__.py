"""Container networking: libcni, go-cni and the network part of containerd's CRI plugin, in Python.

Usable on its own: `libcni.CNIConfig` runs the CNI commands over a chain of plugins, `gocni.CNI` is what a runtime loads
and attaches pods to, `skel` is for writing plugins. `docs/cni.md` shows how.
"""

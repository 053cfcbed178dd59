"""The sidecars of a CSI driver: they create, delete, resize and attach volumes."""

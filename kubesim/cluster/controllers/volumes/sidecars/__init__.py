"""The sidecars of a CSI driver, which create, delete, resize and attach volumes."""

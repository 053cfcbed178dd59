"""Where pods come from."""

from __future__ import annotations

from kubesim.features.rules import Difference

SOURCES = (
    Difference(
        "bootstrap_checkpoints",
        {"v1.12": True},
        "A kubelet that starts restores pods from checkpoints before the API server answers (operation RESTORE). In "
        "v1.36 all pods wait for the API server.",
        "pkg/kubelet/config/config.go Restore, removed in v1.18",
        "versions/v1.12-restore.yaml",
    ),
)

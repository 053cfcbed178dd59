"""Where the kubelet gets pods from."""

from __future__ import annotations

from kubesim.features.rules import Difference

SOURCES = (
    Difference(
        "bootstrap_checkpoints",
        {"v1.12": True},
        "A kubelet that starts restores pods from checkpoints before the API server answers (operation RESTORE). In "
        "v1.36 all pods wait for the API server.",
        "pkg/kubelet/config/config.go Restore, removed in v1.19",
        "versions/v1.12-restore.yaml",
    ),
    Difference(
        "has_config_modes",
        {"v1.6": True, "v1.12": True, "v1.30": True, "v1.35": True},
        "The mux can report snapshots of all pods (operation SET), which `sources.notificationMode` selects. The "
        "sync loop then logs `Kubelet does not support snapshot update`, and pods do not start. In v1.36 the mux "
        "has only one mode.",
        "pkg/kubelet/config/config.go PodConfigNotificationMode, removed in v1.36",
        "versions/v1.12-snapshot-updates.yaml",
    ),
    Difference(
        "repeats_run",
        {"v1.6": True, "v1.12": True},
        "If its config channel is closed, the sync loop ends and is restarted immediately, every time. Containers "
        "that die still cause a sync; ticks, housekeeping and changes of pods do not. In v1.36 the loop ends: pods "
        "keep running, but are not synced any more.",
        "cmd/kubelet/app/server.go startKubelet, changed in v1.18; pkg/kubelet/kubelet.go syncLoopIteration",
        "versions/v1.12-closed-config.yaml",
    ),
)

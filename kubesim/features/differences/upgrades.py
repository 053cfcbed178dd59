"""Differences that surprise users when a kubelet is upgraded while pods run."""

from __future__ import annotations

from kubesim.features.rules import Difference

UPGRADES = (
    Difference(
        "ends_exec_probes",
        {"v1.6": False, "v1.12": False},
        "An exec probe has no time limit: timeoutSeconds has no effect. In v1.36 a command that exceeds "
        "timeoutSeconds fails the probe.",
        "pkg/kubelet/dockershim/exec.go ExecInContainer; pkg/probe/exec/exec.go Probe, changed in v1.20",
        "incidents/exec-probe-timeout.yaml",
    ),
    Difference(
        "static_pod_fields",
        {profile: profile for profile in ("v1.6", "v1.12", "v1.30", "v1.35", "v1.37")},
        "The uid of a static pod is a hash of all fields of the version, so each version computes a "
        "different uid. An upgraded kubelet stops static pods and starts them again.",
        "pkg/kubelet/config/common.go applyDefaults",
        "incidents/static-pod-upgrade.yaml",
    ),
)

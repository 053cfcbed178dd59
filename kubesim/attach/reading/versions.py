"""The version of the node's kubelet, and where our rules do not apply to it.

The rules are those of v1.36. For newer versions, the rows of `kubesim/features/differences` list the differences. Those
rows are by profile, but nodes of all versions since v1.28 can be watched, so older versions have their own list here.
The source of each row was compared between the neighbouring versions (the last patch releases of v1.28 to v1.36); a
comment names it. Versions that are not in the list were not compared.
"""

from __future__ import annotations

import re

from kubesim.features import FeatureGates
from kubesim.features.table import PROFILES

RULES = (1, 36)
_PATCH = re.compile(r"v?1\.36\.4\b")

# Differences of nodes below this minor version.
_DIFFERENCES: tuple[tuple[int, str], ...] = (
    # pkg/features PLEGOnDemandRelist: beta and on in 1.36, new there
    (36, "a start is reported by the next relist, up to 1 s later, not immediately"),
    # kubelet.go OnPodSandboxReady: new in 1.36
    (36, "PodReadyToStartContainers becomes True together with the first container, not when the sandbox is ready"),
    # pkg/features RestartAllContainersOnContainerExits: alpha in 1.35, on in 1.36; kubelet_pods.go with it
    (
        36,
        "no restart rule restarts all containers; the last state of a container is lost with its record in the runtime",
    ),
    # pkg/features InPlacePodLevelResourcesVerticalScaling: alpha in 1.35, on in 1.36
    (36, "resources of a whole pod cannot be resized in place"),
    # pod_workers.go completeWork: MinBackoffExpiration is new in 1.35
    (35, "a crashed container is synced every 10 to 15 s, not when its back-off ends: it restarts up to 16 s late"),
    # kuberuntime_container.go, images/image_manager.go (KubeletEnsureSecretPulledImages: on in 1.35)
    (35, "Events say `Created container: NAME` (before v1.32 without the colon) and `Started container NAME`"),
    (35, "the Event Pulled ends with `already present on machine`"),
    # pkg/features ChangeContainerStatusOnKubeletRestart: off since 1.35
    (35, "after a restart of the kubelet, containers with a readiness or startup probe begin as not ready"),
    # pkg/features ContainerRestartRules: alpha in 1.34, on in 1.35
    (35, "containers do not have their own restart policy and rules, unless a feature gate is set (from v1.34)"),
    # pkg/features KubeletCrashLoopBackOffMax: alpha in 1.32, on in 1.35
    (35, "the longest back-off is 5 minutes on every node, unless a feature gate lets it be configured (from v1.32)"),
    # pkg/features PodObservedGenerationTracking: alpha in 1.33, on in 1.34
    (34, "statuses and conditions have no observedGeneration, so only later changes show that a deletion was seen"),
    # pkg/features PodLevelResources: alpha in 1.32, on in 1.34
    (34, "there are no resources of a whole pod, unless a feature gate is set (from v1.32)"),
    # pkg/features InPlacePodVerticalScaling: alpha in 1.27, on in 1.33
    (33, "in-place resize is off unless its feature gate is set"),
    # pkg/features SidecarContainers and PodReadyToStartContainersCondition: alpha in 1.28, on in 1.29
    (29, "sidecars (init containers with restartPolicy Always) do not exist, unless a feature gate is set (in v1.28)"),
    (29, "there is no condition PodReadyToStartContainers: whether the sandbox is ready is guessed from the pod's IP"),
)


def parse_version(text: str) -> tuple[int, int] | None:
    """`v1.36.4` -> (1, 36)."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else None


def differences(kubelet_version: str) -> tuple[str, ...]:
    """The differences of a node of this version; empty for the version of the rules."""
    version = parse_version(kubelet_version)
    if version is None:
        return (f"the version {kubelet_version!r} of the kubelet is not known: the rules of v1.36 are used",)
    if version > RULES:
        return _newer(kubelet_version, f"v{version[0]}.{version[1]}")
    measured = "v1.36.4 was measured; other patch releases of v1.36 may differ in details"
    if version == RULES:
        return () if _PATCH.match(kubelet_version) else (measured,)
    return tuple(text for below, text in _DIFFERENCES if version < (1, below))


def _newer(kubelet_version: str, profile: str) -> tuple[str, ...]:
    from kubesim.features.differences import DIFFERENCES  # few nodes are newer
    from kubesim.features.differences.gates import GATE_DIFFERENCES

    if profile not in PROFILES:
        return (f"the node runs {kubelet_version}; the rules of v1.36 are used, and newer rules are not known",)
    gates, ours = FeatureGates(profile=profile), FeatureGates()
    rows = [row.what for row in DIFFERENCES if profile in row.values]
    rows += [row.what for row in GATE_DIFFERENCES if gates.enabled(row.gate) != ours.enabled(row.gate)]
    return tuple(rows)

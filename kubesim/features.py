"""Feature gates as data: the name, and what it is in v1.36.

A set of gates is an immutable value that is handed to whoever decides; nobody reads a global.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from kubesim.errors import UnknownGate

# v1.36 defaults of the gates that change what the kubelet decides.
V1_36: Mapping[str, bool] = {
    "ChangeContainerStatusOnKubeletRestart": False,
    "ContainerRestartRules": True,
    "ContainerStopSignals": False,
    "DRAExtendedResource": True,
    "DynamicResourceAllocation": True,
    "EventedPLEG": False,
    "GangScheduling": False,
    "GracefulNodeShutdown": True,
    "HostnameOverride": True,
    "ImageVolume": True,
    "ImageVolumeWithDigest": False,
    "InPlacePodLevelResourcesVerticalScaling": True,
    "InPlacePodVerticalScaling": True,
    "InPlacePodVerticalScalingExclusiveCPUs": False,
    "InPlacePodVerticalScalingInitContainers": True,
    "KubeletCrashLoopBackOffMax": True,
    "KubeletEnsureSecretPulledImages": True,
    "MemoryQoS": False,
    "NodeDeclaredFeatures": True,
    "PLEGOnDemandRelist": True,
    "PodLevelResources": True,
    "PodLifecycleSleepAction": True,
    "PodObservedGenerationTracking": True,
    "PodReadyToStartContainersCondition": True,
    "PreventStaticPodAPIReferences": True,
    "RecursiveReadOnlyMounts": True,
    "ReduceDefaultCrashLoopBackOffDecay": False,
    "ResourceHealthStatus": True,
    "RestartAllContainersOnContainerExits": True,
    "SidecarContainers": True,
    "SupplementalGroupsPolicy": True,
    "TaintTolerationComparisonOperators": False,
    "UserNamespacesSupport": True,
}


@dataclass(frozen=True)
class FeatureGates:
    """`gates.enabled("PodLevelResources")`."""

    overrides: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.overrides:
            _check(name)

    def enabled(self, name: str) -> bool:
        value = self.overrides.get(name)
        if value is not None:
            return value
        value = V1_36.get(name)
        if value is None:
            _check(name)
            raise AssertionError(name)
        return value


def _check(name: str) -> None:
    if name not in V1_36:
        near = difflib.get_close_matches(name, V1_36, n=1, cutoff=0.4)
        raise UnknownGate(f"unknown feature gate {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


DEFAULT_GATES = FeatureGates()

"""Node feature admission: whether the node supports the features a pod needs. Runs for every new pod, after AppArmor.

The scheduler reads the same features from `status.declaredFeatures` of the Node.

Mirrors: pkg/kubelet/lifecycle/handlers.go podFeaturesAdmitHandler, declaredFeaturesAdmitHandler; features_linux.go;
component-helpers nodedeclaredfeatures
"""

from __future__ import annotations

from collections.abc import Collection

from kubesim.api.pod import Pod
from kubesim.features import FeatureGates

GATE = "NodeDeclaredFeatures"
RESTART_ALL = "RestartAllContainersOnContainerExits"
HOST_NETWORK_USERS = "UserNamespacesHostNetworkSupport"
# Sorted by name. Each feature has a gate of the same name.
DECLARED = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    RESTART_ALL,
    HOST_NETWORK_USERS,
)
POD_LEVEL_RESOURCES = ("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")
_ADMITTED = ("", "")


def declared_features(gates: FeatureGates) -> tuple[str, ...]:
    """The features that a node declares. containerd supports user namespaces for host-network pods."""
    return tuple(name for name in DECLARED if gates.enabled(name)) if gates.enabled(GATE) else ()


def required_features(pod: Pod) -> list[str]:
    """The features that the pod requires."""
    spec, names = pod.spec, []
    containers = (*spec.containers, *spec.init_containers)
    if any(rule.action == "RestartAllContainers" for each in containers for rule in each.restart_policy_rules):
        names.append(RESTART_ALL)
    if spec.host_users is False and spec.host_network:
        names.append(HOST_NETWORK_USERS)
    return names


class PodFeaturesAdmission:
    def __init__(self, gates: FeatureGates) -> None:
        self._pod_level_resources = gates.enabled("PodLevelResources")
        self._declared: Collection[str] | None = declared_features(gates) if gates.enabled(GATE) else None

    def admit(self, pod: Pod) -> tuple[str, str]:
        """Reason and message of the rejection; both empty if admitted."""
        asked = pod.spec.resources
        if asked is not None and not self._pod_level_resources and (asked.requests or asked.limits):
            return POD_LEVEL_RESOURCES
        if self._declared is None:
            return _ADMITTED
        missing = [name for name in required_features(pod) if name not in self._declared]
        if missing:
            message = f"Pod requires node features that are not available: {', '.join(missing)}"
            return "PodFeatureUnsupported", message
        return _ADMITTED

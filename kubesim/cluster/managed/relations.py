"""How an apply merges the lists and maps of each type: by keys, as sets, or atomically.

A list that is not named here is atomic; a map or a struct is merged field by field. (Strategic merge patches use the
merge keys of the declared types instead.)

Mirrors: the markers listType, listMapKey, structType and mapType of k8s.io/api and apimachinery
"""

from __future__ import annotations

from collections.abc import Mapping

# Type: its lists with their keys; a list without keys is a set.
_LISTS = """
AllocatedDeviceStatus: conditions type
CSIDriverSpec: volumeLifecycleModes
CSINodeSpec: drivers name
Container: env name | ports containerPort protocol | volumeDevices devicePath | volumeMounts mountPath
ContainerRestartRuleOnExitCodes: values
ContainerStatus: allocatedResourcesStatus name | volumeMounts mountPath
DaemonSetStatus: conditions type
DeploymentStatus: conditions type
Endpoint: addresses
EphemeralContainer: env name | ports containerPort protocol | volumeDevices devicePath | volumeMounts mountPath
HorizontalPodAutoscalerStatus: conditions type
NamespaceStatus: conditions type
NodeSpec: podCIDRs
NodeStatus: addresses type | conditions type
ObjectMeta: finalizers | ownerReferences uid
PersistentVolumeClaimStatus: conditions type
PodDisruptionBudgetStatus: conditions type
PodFailurePolicyOnExitCodesRequirement: values
PodSpec: containers name | ephemeralContainers name | hostAliases ip | imagePullSecrets name | initContainers name |
  resourceClaims name | schedulingGates name | topologySpreadConstraints topologyKey whenUnsatisfiable | volumes name
PodStatus: conditions type | podIPs ip | resourceClaimStatuses name
ReplicaSetStatus: conditions type
ReplicationControllerStatus: conditions type
ResourceClaimStatus: devices driver device pool shareID | reservedFor uid
ResourceRequirements: claims name
ResourceStatus: resources resourceID
ServiceAccount: secrets name
ServiceSpec: ports port protocol
ServiceStatus: conditions type
StatefulSetStatus: conditions type
UncountedTerminatedPods: failed | succeeded
"""
ATOMIC_TYPES = frozenset((
    "ConfigMapKeySelector", "EndpointPort", "FileKeySelector", "LabelSelector", "LocalObjectReference", "NodeSelector",
    "NodeSelectorTerm", "ObjectFieldSelector", "ObjectReference", "OwnerReference", "ResourceFieldSelector", "RoleRef",
    "ScopeSelector", "SecretKeySelector", "SecretReference", "TopologySelectorTerm", "TypedLocalObjectReference",
))  # fmt: skip
ATOMIC_MAPS = frozenset((
    ("PodSpec", "nodeSelector"), ("ReplicationControllerSpec", "selector"), ("RuntimeClassScheduling", "nodeSelector"),
    ("ServiceSpec", "selector"),
))  # fmt: skip
# Defaults of keys that an element omits.
KEY_DEFAULTS: Mapping[tuple[str, str], str] = {("ContainerPort", "protocol"): "TCP", ("ServicePort", "protocol"): "TCP"}


def _parse() -> dict[tuple[str, str], tuple[str, ...]]:
    parsed = {}
    for line in _LISTS.replace("\n  ", " ").strip().splitlines():
        struct, _, lists = line.partition(": ")
        for text in lists.split(" | "):
            name, *keys = text.split()
            parsed[(struct, name)] = tuple(keys)
    return parsed


LISTS: Mapping[tuple[str, str], tuple[str, ...]] = _parse()

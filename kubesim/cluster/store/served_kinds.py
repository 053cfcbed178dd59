"""The kinds that an API server v1.36 serves by default, with their versions and scope.

Kinds that a node or a controller handles are declared in `kinds.py`; objects of other kinds are stored unchanged.

Mirrors: pkg/controlplane/instance.go DefaultAPIResourceConfigSource; pkg/registry/*/rest/storage_*.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kubesim.cluster.store.kinds import RESOURCES, Resource

# group/version: namespaced kinds | cluster-scoped kinds.
_SERVED = """
v1: ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota
  Secret Service ServiceAccount | Namespace Node PersistentVolume
admissionregistration.k8s.io/v1: | MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration
  ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
apiextensions.k8s.io/v1: | CustomResourceDefinition
apiregistration.k8s.io/v1: | APIService
apps/v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
authentication.k8s.io/v1: | SelfSubjectReview TokenReview
authorization.k8s.io/v1: LocalSubjectAccessReview | SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
autoscaling/v1: HorizontalPodAutoscaler
autoscaling/v2: HorizontalPodAutoscaler
batch/v1: CronJob Job
certificates.k8s.io/v1: | CertificateSigningRequest
coordination.k8s.io/v1: Lease
discovery.k8s.io/v1: EndpointSlice
events.k8s.io/v1: Event
flowcontrol.apiserver.k8s.io/v1: | FlowSchema PriorityLevelConfiguration
networking.k8s.io/v1: Ingress NetworkPolicy | IPAddress IngressClass ServiceCIDR
node.k8s.io/v1: | RuntimeClass
policy/v1: PodDisruptionBudget
rbac.authorization.k8s.io/v1: Role RoleBinding | ClusterRole ClusterRoleBinding
resource.k8s.io/v1: ResourceClaim ResourceClaimTemplate | DeviceClass ResourceSlice
scheduling.k8s.io/v1: | PriorityClass
storage.k8s.io/v1: CSIStorageCapacity | CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass
"""
# Groups that are removed, disabled by default, or never served: files of other programs.
_NOT_SERVED = (
    "apiserver.k8s.io", "audit.k8s.io", "auditregistration.k8s.io", "client.authentication.k8s.io", "extensions",
    "imagepolicy.k8s.io", "internal.apiserver.k8s.io", "kind.x-k8s.io", "kubeadm.k8s.io", "settings.k8s.io",
    "storagemigration.k8s.io",
)  # fmt: skip
_CONFIGURATION = ".config.k8s.io"  # suffix of groups of configuration files


@cache
def served_kinds() -> Mapping[tuple[str, str], bool]:
    """(apiVersion, kind) -> whether it is namespaced."""
    served: dict[tuple[str, str], bool] = {}
    for line in _SERVED.replace("\n  ", " ").strip().splitlines():
        version, _, kinds = line.partition(":")
        with_namespace, _, without = kinds.partition("|")
        served |= {(version, kind): True for kind in with_namespace.split()}
        served |= {(version, kind): False for kind in without.split()}
    return served


def versions_of(kind: str) -> Iterator[str]:
    """The versions that serve a kind."""
    return (version for version, served in served_kinds() if served == kind)


def group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def is_custom_group(api_version: str) -> bool:
    """Whether this version can only belong to a CustomResourceDefinition."""
    group = group_of(api_version)
    if group in _NOT_SERVED or group.endswith(_CONFIGURATION):
        return False
    return group not in {group_of(version) for version, _ in served_kinds()}


def stored_kind(api_version: str, kind: str) -> str:
    """The store's key of a kind: `Gateway.networking.example.com` for a custom one."""
    declared, group = RESOURCES.get(kind), group_of(api_version)
    if declared is not None and declared.group == group:
        return kind
    if declared is None and (api_version, kind) in served_kinds():
        return kind
    return f"{kind}.{group}"


def resource_for(api_version: str, kind: str, *, namespaced: bool = True) -> Resource:
    """The resource of any kind; `namespaced` applies to kinds that are neither declared nor served."""
    name = stored_kind(api_version, kind)
    if name in RESOURCES:
        return RESOURCES[name]
    lower = kind.lower()
    plural = (
        lower + "es" if lower.endswith(("s", "x", "ch")) else lower[:-1] + "ies" if lower[-1:] == "y" else lower + "s"
    )
    scope = served_kinds().get((api_version, kind), namespaced)
    return Resource(name, plural, group_of(api_version), scope)

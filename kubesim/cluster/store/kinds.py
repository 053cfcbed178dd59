"""The kinds of the in-memory API server: their names and properties.

Mirrors: pkg/registry/*/rest storage_*.go; the strategies' NamespaceScoped, AllowCreateOnUpdate, ReturnDeletedObject
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.schema.types import model_of
from kubesim.api.schema.versions.conversions import CONVERSIONS, Conversion
from kubesim.values import value_object

DEFINITION = "CustomResourceDefinition"
_RETURNED_WHEN_DELETED = frozenset((
    "Pod", "Namespace", "ServiceAccount", "PersistentVolumeClaim", "PersistentVolume", "PodTemplate", "ResourceQuota",
    "Service", "StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass", "ResourceClaim",
    "ResourceClaimTemplate", "DeviceClass", "ResourceSlice",
))  # fmt: skip
_CREATED_BY_PUT = frozenset((
    "Endpoints", "Event", "LimitRange", "Service", "Lease", "RuntimeClass", "Role", "RoleBinding", "ClusterRole",
    "ClusterRoleBinding",
))  # fmt: skip
_REPLACED_BY_VERSION = frozenset((
    "Lease", "RuntimeClass", "PodDisruptionBudget", "CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment",
    "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "APIService",
    DEFINITION,
))  # fmt: skip


@value_object
class Resource:
    """A kind. `selectable` are its selectable fields in addition to name and namespace."""

    kind: str
    plural: str
    group: str = ""
    namespaced: bool = True
    subresources: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    selectable: tuple[str, ...] = ()
    version: str = "v1"
    converted: bool = False  # stored in another version, as CONVERSIONS says
    # Names (the store's key is `Kind.group`), schema and columns of a custom resource.
    custom_kind: str = ""
    schema: Mapping[str, Any] | None = None
    columns: Any = None
    scale: Mapping[str, str] | None = None  # where its replicas are

    @property
    def returns_deleted(self) -> bool:
        """Whether a DELETE returns the object, not a Status."""
        return self.kind in _RETURNED_WHEN_DELETED

    @property
    def put_creates(self) -> bool:
        """Whether a PUT may create the object."""
        return self.kind in _CREATED_BY_PUT

    @property
    def put_needs_version(self) -> bool:
        """Whether a PUT must name the resource version that it replaces."""
        return bool(self.custom_kind) or self.kind in _REPLACED_BY_VERSION

    @property
    def model(self) -> type[ApiObject]:
        """The class of its objects; ApiObject for kinds without one."""
        declared = model_of(self.kind)
        return declared if declared is not None and issubclass(declared, ApiObject) else ApiObject

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def type_name(self) -> str:
        """The declared type of the request body."""
        return self.conversion.type_name if self.converted else self.kind

    @property
    def conversion(self) -> Conversion:
        """How objects of this version are stored, if they are converted."""
        return CONVERSIONS[(self.api_version, self.kind)]

    @property
    def kind_name(self) -> str:
        """The kind as named in objects and messages."""
        return self.custom_kind or self.kind

    @property
    def group_resource(self) -> str:
        """The resource as named in messages: `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        return f"{self.kind_name}.{self.group}" if self.group else self.kind_name

    @property
    def has_own_fields(self) -> bool:
        return bool(self.selectable)


def _workload(
    kind: str,
    plural: str,
    group: str,
    short_name: str,
    subresources: tuple[str, ...] = ("status",),
    selectable: tuple[str, ...] = (),
) -> Resource:
    """A kind of the category `all`."""
    short_names = (short_name,) if short_name else ()
    return Resource(kind, plural, group, True, subresources, short_names, ("all",), selectable)


_RESOURCES = (
    Resource(
        "Pod",
        "pods",
        subresources=("status", "binding", "eviction", "ephemeralcontainers", "resize"),
        short_names=("po",),
        categories=("all",),
        selectable=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ),
    ),
    Resource(
        "Node",
        "nodes",
        namespaced=False,
        subresources=("status",),
        short_names=("no",),
        selectable=("spec.unschedulable",),
    ),
    Resource(
        "Event",
        "events",
        short_names=("ev",),
        selectable=(
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ),
    ),
    Resource(
        "Namespace",
        "namespaces",
        namespaced=False,
        subresources=("status", "finalize"),
        short_names=("ns",),
        selectable=("status.phase",),
    ),
    Resource("ConfigMap", "configmaps", short_names=("cm",)),
    Resource("Secret", "secrets", selectable=("type",)),
    Resource("ServiceAccount", "serviceaccounts", short_names=("sa",)),
    Resource("Lease", "leases", group="coordination.k8s.io"),
    Resource("PriorityClass", "priorityclasses", group="scheduling.k8s.io", namespaced=False, short_names=("pc",)),
    Resource("RuntimeClass", "runtimeclasses", group="node.k8s.io", namespaced=False),
    _workload("Deployment", "deployments", "apps", "deploy"),
    _workload("ReplicaSet", "replicasets", "apps", "rs", ("status",), ("status.replicas",)),
    _workload("StatefulSet", "statefulsets", "apps", "sts"),
    _workload("DaemonSet", "daemonsets", "apps", "ds"),
    Resource("ControllerRevision", "controllerrevisions", group="apps"),
    _workload("ReplicationController", "replicationcontrollers", "", "rc", ("status",), ("status.replicas",)),
    _workload("Job", "jobs", "batch", "", ("status",), ("status.successful",)),
    _workload("CronJob", "cronjobs", "batch", "cj"),
    _workload("Service", "services", "", "svc"),
    Resource("EndpointSlice", "endpointslices", group="discovery.k8s.io"),
    Resource("PodDisruptionBudget", "poddisruptionbudgets", group="policy", subresources=("status",),
             short_names=("pdb",)),
    Resource("PersistentVolumeClaim", "persistentvolumeclaims", subresources=("status",), short_names=("pvc",)),
    Resource("PersistentVolume", "persistentvolumes", namespaced=False, subresources=("status",), short_names=("pv",)),
    Resource("StorageClass", "storageclasses", group="storage.k8s.io", namespaced=False, short_names=("sc",)),
    Resource("CSIDriver", "csidrivers", group="storage.k8s.io", namespaced=False),
    Resource("CSINode", "csinodes", group="storage.k8s.io", namespaced=False),
    Resource("VolumeAttachment", "volumeattachments", group="storage.k8s.io", namespaced=False,
             subresources=("status",)),
    Resource("LimitRange", "limitranges", short_names=("limits",)),
    Resource("ResourceQuota", "resourcequotas", subresources=("status",), short_names=("quota",)),
    Resource("ResourceClaim", "resourceclaims", group="resource.k8s.io", subresources=("status",)),
    Resource("ResourceClaimTemplate", "resourceclaimtemplates", group="resource.k8s.io"),
    Resource("DeviceClass", "deviceclasses", group="resource.k8s.io", namespaced=False),
    Resource("ResourceSlice", "resourceslices", group="resource.k8s.io", namespaced=False,
             selectable=("spec.nodeName", "spec.driver")),
)  # fmt: skip

# Core Events in the group events.k8s.io.
EVENTS = Resource(
    "Event", "events", group="events.k8s.io", short_names=("ev",), converted=True,
    selectable=(
        "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
        "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type",
    ),
)  # fmt: skip

RESOURCES: Mapping[str, Resource] = {resource.kind: resource for resource in _RESOURCES}
BY_PATH: Mapping[tuple[str, str], Resource] = {
    (resource.group, resource.plural): resource for resource in (*_RESOURCES, EVENTS)
}


def resource_of(kind: str) -> Resource:
    """The resource of a kind; an undeclared kind gets a regular plural, so that any object can be stored."""
    known = RESOURCES.get(kind)
    if known is not None:
        return known
    from kubesim.cluster.store.api_groups import resource_of_kind

    found = resource_of_kind(kind)
    if found is not None:
        return found
    custom, _, group = kind.partition(".")
    lower = custom.lower()
    plural = lower + ("es" if lower.endswith("s") else "s")
    return Resource(kind, plural, group, custom_kind=custom if group else "")

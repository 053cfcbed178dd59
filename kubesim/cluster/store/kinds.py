"""The kinds that the in-memory API server has: their names in paths and messages, and what is particular to each.

Mirrors: pkg/registry/*/rest storage_*.go; the strategies' NamespaceScoped, AllowCreateOnUpdate, ReturnDeletedObject
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.values import value_object


@value_object
class Resource:
    """One kind. `selectable` are the fields beside name and namespace by which its objects can be selected."""

    kind: str
    plural: str
    group: str = ""
    namespaced: bool = True
    model: type[ApiObject] = ApiObject
    subresources: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    selectable: tuple[str, ...] = ()
    returns_deleted: bool = False  # the answer to a DELETE is the object, not a Status
    put_creates: bool = False
    put_needs_version: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/v1" if self.group else "v1"

    @property
    def group_resource(self) -> str:
        """As messages name the resource: `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_kind(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def has_own_fields(self) -> bool:
        return bool(self.selectable)


_RESOURCES = (
    Resource(
        "Pod",
        "pods",
        model=Pod,
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
        returns_deleted=True,
    ),
    Resource(
        "Node",
        "nodes",
        namespaced=False,
        model=Node,
        subresources=("status",),
        short_names=("no",),
        selectable=("spec.unschedulable",),
    ),
    Resource(
        "Event",
        "events",
        model=Event,
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
        put_creates=True,
    ),
    Resource(
        "Namespace",
        "namespaces",
        namespaced=False,
        subresources=("status", "finalize"),
        short_names=("ns",),
        selectable=("status.phase",),
        returns_deleted=True,
    ),
    Resource("ConfigMap", "configmaps", short_names=("cm",)),
    Resource("Secret", "secrets", selectable=("type",)),
    Resource("ServiceAccount", "serviceaccounts", short_names=("sa",), returns_deleted=True),
    Resource("Lease", "leases", group="coordination.k8s.io", put_creates=True, put_needs_version=True),
    Resource("PriorityClass", "priorityclasses", group="scheduling.k8s.io", namespaced=False, short_names=("pc",)),
    Resource("RuntimeClass", "runtimeclasses", group="node.k8s.io", namespaced=False),
)

RESOURCES: Mapping[str, Resource] = {resource.kind: resource for resource in _RESOURCES}
BY_PATH: Mapping[tuple[str, str], Resource] = {(resource.group, resource.plural): resource for resource in _RESOURCES}


_CLUSTER_SCOPED = {"PersistentVolume", "StorageClass", "CSIDriver", "CSINode"}  # of those that are not declared


def resource_of(kind: str) -> Resource:
    """The resource of a kind; a kind nobody declared gets the regular plural, so that any object can be stored."""
    known = RESOURCES.get(kind)
    if known is not None:
        return known
    lower = kind.lower()
    return Resource(kind, lower + ("es" if lower.endswith("s") else "s"), namespaced=kind not in _CLUSTER_SCOPED)

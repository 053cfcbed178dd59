"""Starts each controller when its first object appears, so that a run without such objects pays nothing.

Mirrors: cmd/kube-controller-manager/app controllermanager.go NewControllerDescriptors
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent

# kind -> module and class of the controllers started by its first object
CONTROLLERS: Mapping[str, tuple[str, ...]] = {
    "ReplicaSet": ("replicaset.controller:ReplicaSetController",),
    "ReplicationController": ("replicaset.controller:ReplicationControllerController",),
    "Deployment": ("deployment.controller:DeploymentController",),
    "StatefulSet": ("statefulset.controller:StatefulSetController",),
    "DaemonSet": ("daemonset.controller:DaemonSetController",),
    "Job": ("job.controller:JobController", "job.ttl:TTLAfterFinishedController"),
    "CronJob": ("cronjob.controller:CronJobController",),
    "Service": ("endpointslice.controller:EndpointSliceController",),
    "PodDisruptionBudget": ("disruption.controller:DisruptionController",),
    "PersistentVolumeClaim": ("volumes.starting:VolumeControllers",),
    "PersistentVolume": ("volumes.starting:VolumeControllers",),
    "ResourceQuota": ("resourcequota.controller:ResourceQuotaController",),
    "ResourceClaim": ("resourceclaim.controller:ResourceClaimController",),
}


# controllers that start later, on a certain change of a kind
GARBAGE_COLLECTOR = "garbage.collector:GarbageCollector"
NAMESPACE_DELETION = "garbage.namespace_deletion:NamespaceDeletion"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
TERMINATED_POD_THRESHOLD = 12_500
Concerns = Callable[[Store, WatchEvent], bool]
POD_GC = "nodes.pod_gc:PodGarbageCollector"
EPHEMERAL = "volumes.ephemeral:EphemeralController"
RESOURCE_CLAIM = "resourceclaim.controller:ResourceClaimController"


class _Starter:
    """Waits for the first object of a kind."""

    def __init__(self, context: ControllerContext, kind: str, started: set[str]) -> None:
        self._context = context
        self._kind = kind
        self._started = started
        self._stop = context.store.watch(kind, self._changed)

    def _changed(self, _: WatchEvent) -> None:
        self._stop()
        for path in CONTROLLERS[self._kind]:
            if path not in self._started:
                self._started.add(path)
                start(self._context, path)


def start(context: ControllerContext, path: str) -> None:
    """Import and create a controller, given as `deployment.controller:DeploymentController`."""
    module, _, name = path.partition(":")
    getattr(import_module(f"kubesim.cluster.controllers.{module}"), name)(context)


class _ConditionalStarter:
    """Waits for the first change relevant to a controller. `waiting` are the controllers of one kind."""

    def __init__(
        self, context: ControllerContext, kind: str, started: set[str], *waiting: tuple[Concerns, str]
    ) -> None:
        self._context = context
        self._started = started
        self._waiting = waiting
        self._stop = context.store.watch(kind, self._changed) if kind else context.store.watch_all(self._changed)

    def _changed(self, change: WatchEvent) -> None:
        for waits in self._waiting:
            concerns, path = waits
            if concerns(self._context.store, change):
                self._waiting = tuple(other for other in self._waiting if other is not waits)
                if path not in self._started:
                    self._started.add(path)
                    start(self._context, path)
                if not self._waiting:
                    self._stop()


class _PodStarter(_ConditionalStarter):
    """Ignores pod updates that leave the spec unchanged, which nearly all do, once the pod has a node."""

    def _changed(self, change: WatchEvent) -> None:
        pod, old = change.object, change.previous
        assert isinstance(pod, Pod)
        if not isinstance(old, Pod) or old.spec is not pod.spec or not pod.spec.node_name:
            super()._changed(change)


def _has_owner_or_finalizer(_: Store, change: WatchEvent) -> bool:
    metadata = change.object.metadata
    return bool(metadata.owner_references or metadata.finalizers)


def _has_ephemeral_volume(_: Store, change: WatchEvent) -> bool:
    """Whether a new pod has an ephemeral volume; volumes are immutable."""
    if change.previous is not None:
        return False
    pod = change.object
    assert isinstance(pod, Pod)
    return any(volume.get("ephemeral") is not None for volume in pod.spec.volumes)


def _has_resource_claim(_: Store, change: WatchEvent) -> bool:
    pod = change.object
    return change.previous is None and isinstance(pod, Pod) and bool(pod.spec.resource_claims)


def _is_ending(_: Store, change: WatchEvent) -> bool:
    return change.object.metadata.deletion_timestamp is not None


def _was_deleted(_: Store, change: WatchEvent) -> bool:
    return change.type == "DELETED"


def _is_out_of_service(_: Store, change: WatchEvent) -> bool:
    node = change.object
    return isinstance(node, Node) and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def _is_without_node(store: Store, change: WatchEvent) -> bool:
    """Whether the pod is relevant to the pod garbage collector: its node is missing, it terminated without one, or too
    many have terminated.
    """
    pod = change.object
    assert isinstance(pod, Pod)
    if not pod.spec.node_name:
        return pod.metadata.deletion_timestamp is not None and change.type != "DELETED"
    nodes, pods = store.count("Node"), store.count("Pod")
    return pods > TERMINATED_POD_THRESHOLD or (nodes > 0 and store.find("Node", "", pod.spec.node_name) is None)


def start_when_needed(context: ControllerContext) -> None:
    started: set[str] = set()
    for kind in CONTROLLERS:
        _Starter(context, kind, started)
    _ConditionalStarter(context, "", started, (_has_owner_or_finalizer, GARBAGE_COLLECTOR))
    of_pods = ((_has_ephemeral_volume, EPHEMERAL), (_has_resource_claim, RESOURCE_CLAIM), (_is_without_node, POD_GC))
    _PodStarter(context, "Pod", started, *of_pods)
    _ConditionalStarter(context, "Namespace", started, (_is_ending, NAMESPACE_DELETION))
    _ConditionalStarter(context, "Node", started, (_was_deleted, POD_GC), (_is_out_of_service, POD_GC))

"""Cluster events that may make an unschedulable pod schedulable.

Mirrors: pkg/scheduler/framework/events.go PodSchedulingPropertiesChange, NodeSchedulingPropertiesChange;
kube-scheduler/framework/types.go ActionType
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.resources import pod_requests
from kubesim.values import value_object


class Action(StrEnum):
    """The kind of change."""

    ADD = "Add"
    DELETE = "Delete"
    UPDATE = "Update"
    UPDATE_NODE_ALLOCATABLE = "UpdateNodeAllocatable"
    UPDATE_NODE_LABEL = "UpdateNodeLabel"
    UPDATE_NODE_TAINT = "UpdateNodeTaint"
    UPDATE_POD_LABEL = "UpdatePodLabel"
    UPDATE_POD_SCALE_DOWN = "UpdatePodScaleDown"
    UPDATE_POD_TOLERATION = "UpdatePodToleration"
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = "UpdatePodSchedulingGatesEliminated"
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = "UpdatePodGeneratedResourceClaim"


@value_object
class ClusterEvent:
    """A change of an object. `old` is None for a new object, `new` for a deleted one."""

    kind: str
    action: Action
    old: ApiObject | None = None
    new: ApiObject | None = None

    @property
    def old_pod(self) -> Pod | None:
        return self.old if isinstance(self.old, Pod) else None

    @property
    def new_pod(self) -> Pod | None:
        return self.new if isinstance(self.new, Pod) else None

    @property
    def old_node(self) -> Node | None:
        return self.old if isinstance(self.old, Node) else None

    @property
    def new_node(self) -> Node | None:
        return self.new if isinstance(self.new, Node) else None


QueueingHint = Callable[[Pod, ClusterEvent], bool]


@value_object
class Registration:
    """An event for which a plugin requeues pods that it rejected. Without a hint it requeues all of them."""

    kind: str
    actions: frozenset[Action]
    hint: QueueingHint | None = None


def after(kind: str, *actions: Action, hint: QueueingHint | None = None) -> Registration:
    return Registration(kind, frozenset(actions), hint)


def pod_changes(old: Pod, new: Pod) -> Iterator[ClusterEvent]:
    """The cluster events of an updated pod. Updates of other kinds requeue none."""
    if old.status.resource_claim_statuses != new.status.resource_claim_statuses:
        yield ClusterEvent("Pod", Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, old, new)
    if old.spec is new.spec and old.metadata.labels is new.metadata.labels and not new.status.container_statuses:
        return
    if old.metadata.labels != new.metadata.labels:
        yield ClusterEvent("Pod", Action.UPDATE_POD_LABEL, old, new)
    if _is_scaled_down(old, new):
        yield ClusterEvent("Pod", Action.UPDATE_POD_SCALE_DOWN, old, new)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        yield ClusterEvent("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, old, new)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        yield ClusterEvent("Pod", Action.UPDATE_POD_TOLERATION, old, new)


def _is_scaled_down(old: Pod, new: Pod) -> bool:
    if old.spec is new.spec and not is_resized(old):
        return False
    before, now = (pod_requests(pod, use_status=True, use_pod_level_status=True) for pod in (old, new))
    return any(name not in now or amount.milli_value() > now[name].milli_value() for name, amount in before.items())


def is_resized(pod: Pod) -> bool:
    """Whether a resize is in progress. Then the status determines the pod's requests."""
    return any(condition.type in ("PodResizePending", "PodResizeInProgress") for condition in pod.status.conditions)


def node_changes(old: Node, new: Node) -> Iterator[ClusterEvent]:
    """The cluster events of an updated node."""
    if old.spec.unschedulable and not new.spec.unschedulable:
        yield ClusterEvent("Node", Action.UPDATE_NODE_TAINT, old, new)
    if old.status.allocatable != new.status.allocatable:
        yield ClusterEvent("Node", Action.UPDATE_NODE_ALLOCATABLE, old, new)
    if old.metadata.labels != new.metadata.labels:
        yield ClusterEvent("Node", Action.UPDATE_NODE_LABEL, old, new)
    if old.spec.taints != new.spec.taints:
        yield ClusterEvent("Node", Action.UPDATE_NODE_TAINT, old, new)

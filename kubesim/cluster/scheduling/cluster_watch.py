"""The scheduler's event handlers: pods and nodes update its snapshot and queue, other changes only requeue pods.

Mirrors: pkg/scheduler/eventhandlers.go addPod, updatePod, deletePod, updateNodeInCache, addAllEventHandlers
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, node_changes, pod_changes
from kubesim.cluster.scheduling.framework.pod_info import new_pod_info, pod_priority, updated_pod_info
from kubesim.cluster.scheduling.framework.snapshot import Snapshot
from kubesim.cluster.scheduling.plugins.profile import WATCHED
from kubesim.cluster.scheduling.queue.scheduling_queue import SchedulingQueue
from kubesim.cluster.scheduling.scheduler_client import NAME
from kubesim.cluster.store.watches import WatchEvent


class ClusterWatch:
    """The event handlers. `arm` is called when a pod may be ready for an attempt."""

    def __init__(
        self, context: ControllerContext, snapshot: Snapshot, queue: SchedulingQueue, arm: Callable[[], None]
    ) -> None:
        self._clock = context.clock
        self._snapshot = snapshot
        self._queue = queue
        self._arm = arm
        store = context.store
        for kind, changed in (("Node", self._node), ("Pod", self._pod)):
            for obj in store.list(kind):
                changed(None, obj)
        store.watch("Node", lambda change: self._node(*_states(change)))
        store.watch("Pod", self._pod_changed)
        for kind in WATCHED:
            store.watch(kind, self._other_changed)
        arm()

    def _move_all(self, event: ClusterEvent, max_priority: int | None = None) -> None:
        if not self._queue.unschedulable:
            return
        check = None if max_priority is None else lambda pod: pod_priority(pod) <= max_priority
        self._queue.move_all(event, self._clock.now(), check)
        self._arm()

    # -- nodes and others ---------------------------------------------------------------------------------------

    def _node(self, old: ApiObject | None, new: ApiObject | None) -> None:
        if isinstance(new, Node):
            self._snapshot.set_node(new)
            if isinstance(old, Node):
                for event in node_changes(old, new):
                    self._move_all(event)
            else:
                self._move_all(ClusterEvent("Node", Action.ADD, None, new))
        elif old is not None:
            self._move_all(ClusterEvent("Node", Action.DELETE, old))
            self._snapshot.remove_node(old.metadata.name)

    def _other_changed(self, change: WatchEvent) -> None:
        old, new = _states(change)
        action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
        self._move_all(ClusterEvent(change.object.kind, action, old, new))

    # -- pods ---------------------------------------------------------------------------------------------------

    def _pod_changed(self, change: WatchEvent) -> None:
        """A pod changed. A terminated pod counts as deleted."""
        old, new = _states(change)
        self._pod(None if old is None or _is_terminal(old) else old, None if new is None or _is_terminal(new) else new)

    def _pod(self, old: ApiObject | None, new: ApiObject | None) -> None:
        if isinstance(new, Pod) and not _is_terminal(new):
            if isinstance(old, Pod):
                self._updated(old, new)
            else:
                self._added(new)
        elif isinstance(old, Pod):
            self._deleted(old)

    def _added(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._snapshot.set_pod(pod)
            self._move_all(ClusterEvent("Pod", Action.ADD, None, pod))
        elif _is_ours(pod):
            self._queue.add(new_pod_info(pod, self._snapshot.gates), self._clock.now())
            self._arm()

    def _updated(self, old: Pod, new: Pod) -> None:
        if old.spec.node_name:
            self._snapshot.set_pod(new)
            for event in pod_changes(old, new):
                self._move_all(event)
        elif new.spec.node_name:
            self._snapshot.set_pod(new)
            self._queue.delete(new.metadata.uid)
            self._move_all(ClusterEvent("Pod", Action.ADD, None, new))
        elif _is_ours(old):
            self._updated_in_queue(old, new)

    def _updated_in_queue(self, old: Pod, new: Pod) -> None:
        uid = new.metadata.uid
        if self._snapshot.is_assumed(uid):
            if new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None:
                self._forget(new)
            return
        known = self._queue.find(uid)
        gates = self._snapshot.gates
        info = new_pod_info(new, gates) if known is None else updated_pod_info(known, new, gates)
        self._queue.update(info, list(pod_changes(old, new)), self._clock.now())
        before = old.status.nominated_node_name
        if before and before != new.status.nominated_node_name:
            # It was nominated to that node, which blocked pods of the same or a lower priority.
            self._move_all(ClusterEvent("Pod", Action.DELETE, old), pod_priority(old))
        self._arm()

    def _deleted(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._snapshot.remove_pod(pod.metadata.uid)
            self._move_all(ClusterEvent("Pod", Action.DELETE, pod))
        elif _is_ours(pod):
            self._queue.delete(pod.metadata.uid)
            if self._snapshot.is_assumed(pod.metadata.uid):
                self._forget(pod)
            elif pod.status.nominated_node_name:
                self._move_all(ClusterEvent("Pod", Action.DELETE, pod), pod_priority(pod))

    def _forget(self, pod: Pod) -> None:
        """Release the resources of a pod that is deleted during its binding cycle."""
        node = self._snapshot.assumed_node(pod.metadata.uid)
        self._snapshot.remove_pod(pod.metadata.uid)
        gone = pod.changed(spec=pod.spec.changed(node_name=node))
        self._move_all(ClusterEvent("Pod", Action.DELETE, gone))


def _states(change: WatchEvent) -> tuple[ApiObject | None, ApiObject | None]:
    """The states before and after."""
    if change.type == "DELETED":
        return change.previous or change.object, None
    return change.previous, change.object


def _is_terminal(obj: ApiObject) -> bool:
    return isinstance(obj, Pod) and obj.status.phase in TERMINAL_PHASES


def _is_ours(pod: Pod) -> bool:
    return pod.spec.scheduler_name in ("", NAME)

"""Starts the scheduler with the first unscheduled pod, or a simple rule in its place."""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources.binding import bind
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.watches import WatchEvent


class SchedulerStarter:
    """Creates the scheduler when the first unscheduled pod appears, so that a run without any pays nothing."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._stop = context.store.watch("Pod", self._changed)

    def _changed(self, change: WatchEvent) -> None:
        pod = change.object
        if change.previous is None and isinstance(pod, Pod) and not pod.spec.node_name:
            self._stop()
            start_scheduler(self._context)


def start_scheduler(context: ControllerContext) -> None:
    """Start the scheduler; it queues existing pods too."""
    from kubesim.cluster.scheduling.scheduler import Scheduler

    Scheduler(context)


class FirstNode:
    """Binds every unscheduled pod to the same node immediately, or once its scheduling gates are removed."""

    def __init__(self, context: ControllerContext, node: str) -> None:
        self._clock, self._store = context.clock, context.store
        self._node = node
        context.store.watch("Pod", self._changed)

    def _changed(self, change: WatchEvent) -> None:
        if change.type != "DELETED" and self._is_free(change.object):
            # Deferred: other watches have not seen the unscheduled pod yet.
            metadata = change.object.metadata
            self._clock.call_at(self._clock.now(), self._bind, metadata.namespace, metadata.name)

    def _bind(self, namespace: str, name: str) -> None:
        pod = self._store.find("Pod", namespace, name)
        if self._is_free(pod):
            target = Target(RESOURCES["Pod"], namespace, name, "binding")
            body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": self._node}}
            bind(self._store, target, body)

    @staticmethod
    def _is_free(pod: object) -> bool:
        return (
            isinstance(pod, Pod)
            and not pod.spec.node_name
            and not pod.spec.scheduling_gates
            and pod.metadata.deletion_timestamp is None
        )

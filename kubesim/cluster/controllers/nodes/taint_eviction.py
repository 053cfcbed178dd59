"""Deletes pods that do not tolerate a NoExecute taint of their node: immediately, or after tolerationSeconds.

This controller belongs to the cluster. The kubelet checks such taints only at admission.

Mirrors: pkg/controller/tainteviction/taint_eviction.go processPodOnNode, handleNodeUpdate, handlePodUpdate,
getMinTolerationTime, addConditionAndDeletePod; timed_workers.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from kubesim.api.node import Node, Taint
from kubesim.api.pod import Pod, PodCondition, Toleration
from kubesim.api.pods.pod_conditions import with_condition
from kubesim.api.timestamps import MILLISECOND, SECOND, format_time
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.queue import FASTEST, SLOWEST
from kubesim.cluster.scheduling.taints import tolerates
from kubesim.cluster.store.watches import WatchEvent
from kubesim.features import DEFAULT_GATES, FeatureGates

REQUEST = (4 * MILLISECOND, 12 * MILLISECOND)  # latency of a patch
NO_EXECUTE = "NoExecute"
NAME = "taint-eviction-controller"
WHY = "the pod does not tolerate a NoExecute taint of its node any longer"


def no_execute_taints(node: Node) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.spec.taints if taint.effect == NO_EXECUTE)


def toleration_time(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], gates: FeatureGates = DEFAULT_GATES
) -> int | None:
    """How long a pod may stay on a node with these taints, in microseconds; None: forever.

    The first matching toleration of each taint counts, and the shortest of these applies.
    """
    comparison = gates.enabled("TaintTolerationComparisonOperators")
    shortest: int | None = None
    for taint in taints:
        used = next((t for t in tolerations if tolerates(t, taint, comparison=comparison)), None)
        if used is None:
            return 0
        if used.toleration_seconds is not None:
            seconds = max(used.toleration_seconds, 0)
            shortest = seconds if shortest is None else min(shortest, seconds)
    return None if shortest is None else shortest * SECOND


class TaintEviction:
    """The controller; active from creation."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        self._store = store = context.store
        self._gates = context.gates
        self._client = ControllerClient(context, NAME)
        self._stream = context.randomness.stream("controller", NAME)
        self._planned: dict[tuple[str, str], asyncio.TimerHandle] = {}  # deletions by namespace and name of the pod
        store.watch("Node", self._node_changed)
        store.watch("Pod", self._pod_changed)

    def _node_changed(self, change: WatchEvent) -> None:
        node, old = change.object, change.previous
        assert isinstance(node, Node)
        before = no_execute_taints(old) if isinstance(old, Node) else ()
        if change.type != "DELETED" and no_execute_taints(node) != before:
            self._later(self._look_at_node, node.metadata.name)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod, old = change.object, change.previous
        assert isinstance(pod, Pod)
        if change.type == "DELETED":
            self._cancel(pod)
            return
        if isinstance(old, Pod) and (pod.spec is old.spec or _tolerance(pod) == _tolerance(old)):
            return
        if self._taints(pod.spec.node_name):
            self._later(self._look_at_pod, pod.metadata.namespace, pod.metadata.name)

    def _later(self, action: Callable[..., None], *args: str) -> None:
        """Schedule the work: a short delay after the watch event."""
        self._clock.call_at(self._clock.now() + self._stream.randint(FASTEST, SLOWEST), action, *args)

    def _taints(self, node_name: str) -> tuple[Taint, ...]:
        node = self._store.find("Node", "", node_name) if node_name else None
        return no_execute_taints(node) if isinstance(node, Node) else ()

    def _look_at_pod(self, namespace: str, name: str) -> None:
        pod = self._store.find("Pod", namespace, name)
        if isinstance(pod, Pod):
            taints = self._taints(pod.spec.node_name)
            if taints:
                self._process(pod, taints)

    def _look_at_node(self, name: str) -> None:
        taints = self._taints(name)
        for pod in self._store.list("Pod"):
            if isinstance(pod, Pod) and pod.spec.node_name == name:
                if taints:
                    self._process(pod, taints)
                else:
                    self._cancel(pod)

    def _process(self, pod: Pod, taints: tuple[Taint, ...]) -> None:
        """Plan the deletion of a pod. An existing plan stays, even if newer taints would shorten it."""
        delay = toleration_time(taints, pod.spec.tolerations, self._gates)
        if not delay:  # no delay, or no deletion
            self._cancel(pod)
        if delay is not None and _key(pod) not in self._planned:
            due = self._clock.now() + delay
            self._planned[_key(pod)] = self._clock.call_at(due, self._delete, _key(pod))

    def _cancel(self, pod: Pod) -> None:
        planned = self._planned.pop(_key(pod), None)
        if planned is not None:
            planned.cancel()
            self._client.event(
                pod, "Normal", "TaintManagerEviction", f"Cancelling deletion of Pod {'/'.join(_key(pod))}"
            )

    def _delete(self, key: tuple[str, str]) -> None:
        del self._planned[key]
        pod = self._store.find("Pod", *key)
        if not isinstance(pod, Pod) or pod.metadata.deletion_timestamp is not None:
            return
        self._client.event(pod, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {'/'.join(key)}")
        condition = PodCondition(
            type="DisruptionTarget",
            status="True",
            reason="DeletionByTaintManager",
            message="Taint manager: deleting due to NoExecute taint",
            observed_generation=pod.metadata.generation,
            last_transition_time=format_time(self._store.now()),
        )
        status = pod.status.changed(conditions=with_condition(pod.status.conditions, condition))
        self._client.patch(pod, pod.changed(status=status), WHY, "status")
        self._clock.call_at(self._clock.now() + self._stream.randint(*REQUEST), self._client.delete, pod, WHY)


def _tolerance(pod: Pod) -> tuple[str, tuple[Toleration, ...]]:
    """The properties of a pod that determine its eviction."""
    return pod.spec.node_name, pod.spec.tolerations


def _key(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name

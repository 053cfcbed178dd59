"""The DaemonSet controller: one pod on each matching node, and rolling updates.

Mirrors: pkg/controller/daemon/daemon_controller.go syncDaemonSet, manage, syncNodes, syncNodeUpdate; update.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.apps import DaemonSet
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.daemonset.failures import FailedPodsBackoff
from kubesim.cluster.controllers.daemonset.placement import Fit, fit_of, new_daemon_pod
from kubesim.cluster.controllers.daemonset.plan import (
    DaemonNodePlan,
    daemon_set_status,
    plan_node,
    pods_by_node,
    pods_without_node,
)
from kubesim.cluster.controllers.daemonset.revisions import DaemonHistory, revision_hash
from kubesim.cluster.controllers.daemonset.rolling import plan_rolling_update
from kubesim.cluster.controllers.history import RevisionHistory
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.controllers.pods import is_pod_ready
from kubesim.cluster.controllers.queue import KeyQueue
from kubesim.cluster.problems import is_namespace_terminating
from kubesim.cluster.store.selectors import selector_from
from kubesim.cluster.store.store import Key
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import ApiError
from kubesim.values import value_object

BURST_REPLICAS = 250  # limit of pods created or deleted by one sync

_Candidate = TypeVar("_Candidate")


@value_object
class NodesOutcome:
    """The results of creating and deleting pods.

    `seen` are the pods counted in the status of the same sync. It lacks the last writes: a controller is notified of
    its own writes later, and syncs again then.
    """

    seen: Sequence[Pod]
    acted: bool = False
    error: ApiError | None = None


class DaemonSetController(Controller):
    name: ClassVar[str] = "daemonset-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.owned("Pod")
        history = RevisionHistory(self.store, self.client, context.owned("ControllerRevision"))
        self._history = DaemonHistory(self.client, history)
        self._backoff = FailedPodsBackoff()
        streams = context.randomness
        self._choices = streams.stream("controller", self.name, "choices")
        self._nodes = KeyQueue(context.clock, streams.stream("controller", self.name, "nodes"), self._sync_node)
        self.watch("DaemonSet")
        self.watch_owned("Pod", "DaemonSet")
        self.watch_orphans("Pod", "DaemonSet", lambda owner: owner.spec.selector)
        self.watch_owned("ControllerRevision", "DaemonSet")
        self.store.watch("Pod", self._pod_changed)
        self.store.watch("Node", self._node_changed)

    # -- what wakes it ------------------------------------------------------------------------------------------

    def _pod_changed(self, change: WatchEvent) -> None:
        """A pod that became ready is checked again when minReadySeconds have passed."""
        pod, old = change.object, change.previous
        owner = controller_of(pod)
        if owner is None or owner.kind != "DaemonSet" or not isinstance(pod, Pod) or not isinstance(old, Pod):
            return
        set_ = self.store.find("DaemonSet", pod.metadata.namespace, owner.name)
        if isinstance(set_, DaemonSet) and set_.spec.min_ready_seconds and is_pod_ready(pod) and not is_pod_ready(old):
            self.enqueue(set_, (set_.spec.min_ready_seconds + 1) * SECOND)

    def _node_changed(self, change: WatchEvent) -> None:
        node, old = change.object, change.previous
        if change.type == "DELETED" or not isinstance(node, Node):
            return
        same = isinstance(old, Node) and old.metadata.labels == node.metadata.labels
        if not same or not isinstance(old, Node) or old.spec.taints != node.spec.taints:
            self._nodes.add(("", node.metadata.name))

    def _sync_node(self, key: Key) -> None:
        """Sync the sets whose match with this node changed."""
        node = self.store.find("Node", *key)
        if not isinstance(node, Node):
            return
        for set_ in self.store.list("DaemonSet"):
            assert isinstance(set_, DaemonSet)
            fit = fit_of(set_, node, self.context.gates)
            pods = (pod for pod in self._pods.of(set_) if isinstance(pod, Pod))
            scheduled = any(pod.spec.node_name == node.metadata.name for pod in pods)
            misplaced = not fit.should_continue or set_.status.number_misscheduled > 0
            if (scheduled and misplaced) or (not scheduled and fit.should_run):
                self.enqueue(set_)

    # -- a sync -------------------------------------------------------------------------------------------------

    def sync(self, namespace: str, name: str) -> None:
        set_ = self.store.find("DaemonSet", namespace, name)
        if not isinstance(set_, DaemonSet) or set_.metadata.deletion_timestamp is not None:
            return
        self.client.claim(self._pods, set_, selector_from(set_.spec.selector))
        revision, old = self._history.construct(set_, self._pods_of(set_))
        hash_text = revision_hash(revision)
        nodes = (node for node in self.store.list("Node") if isinstance(node, Node))
        fits = {node.metadata.name: fit_of(set_, node, self.context.gates) for node in nodes}
        outcome = self._manage(set_, fits, hash_text)
        if not outcome.acted and outcome.error is None and set_.spec.update_strategy.type == "RollingUpdate":
            outcome = self._rolling_update(set_, fits, hash_text)
        if outcome.error is None:
            self._history.clean_up(set_, old, self._pods_of(set_))
        self._update_status(set_, fits, outcome.seen, hash_text)
        if outcome.error is not None:
            raise outcome.error

    def _pods_of(self, set_: DaemonSet) -> list[Pod]:
        """The current pods that the set controls."""
        return [pod for pod in self._pods.of(set_) if isinstance(pod, Pod)]

    def _manage(self, set_: DaemonSet, fits: dict[str, Fit], hash_text: str) -> NodesOutcome:
        """Create missing pods and delete surplus ones."""
        pods = pods_by_node(self._pods_of(set_))
        create: list[tuple[str, str]] = []
        delete: list[tuple[Pod, str]] = []
        for node, fit in fits.items():
            plan = plan_node(set_, fit, pods.get(node, ()), hash_text, self.clock.now())
            if plan.create:
                create.append((node, f"node {node} should have a pod of the set and has none"))
            delete += self._ended_pods(set_, node, plan)
            delete += [(pod, plan.why) for pod in plan.delete]
        delete += [(pod, "the node that it is made for does not exist") for pod in pods_without_node(pods, fits)]
        return self._sync_nodes(set_, create, delete, hash_text)

    def _ended_pods(self, set_: DaemonSet, node: str, plan: DaemonNodePlan) -> list[tuple[Pod, str]]:
        """Delete terminated daemon pods, the failed ones with back-off."""
        found = []
        key = (set_.metadata.uid, set_.status.observed_generation, node)
        for pod in plan.failed:
            now = self.clock.now()
            wait = self._backoff.remaining_wait(key, now)
            if wait:
                self.enqueue(set_, wait)
                continue
            self._backoff.next(key, now)
            about = f"Found failed daemon pod {pod.metadata.namespace}/{pod.metadata.name} on node {node}"
            self.client.event(set_, "Warning", "FailedDaemonPod", f"{about}, will try to kill it")
            found.append((pod, "a daemon pod that has failed is deleted, so that a new one can come"))
        for pod in plan.succeeded:
            about = f"Found succeeded daemon pod {pod.metadata.namespace}/{pod.metadata.name} on node {node}"
            self.client.event(set_, "Normal", "SucceededDaemonPod", f"{about}, will try to delete it")
            found.append((pod, "a daemon pod should run forever: one that has ended is replaced"))
        return found

    def _rolling_update(self, set_: DaemonSet, fits: dict[str, Fit], hash_text: str) -> NodesOutcome:
        pods = pods_by_node(self._pods_of(set_))
        try:
            rollout = plan_rolling_update(set_, fits, pods, hash_text, self.clock.now())
        except ApiError as error:
            return NodesOutcome(self._pods_of(set_), error=error)
        delete = [*rollout.delete, *self._some(rollout.delete_candidates, rollout.delete_count)]
        create = [*rollout.create, *self._some(rollout.create_candidates, rollout.create_count)]
        why = "the pod is from an old template, and the rolling update has come to its node"
        surge = "the pod of this node is from an old template, and a new one comes before the old one goes"
        return self._sync_nodes(set_, [(node, surge) for node in create], [(pod, why) for pod in delete], hash_text)

    def _some(self, candidates: Sequence[_Candidate], count: int) -> Sequence[_Candidate]:
        """A random selection: the real controller follows Go's map order."""
        return candidates if count >= len(candidates) else self._choices.sample(candidates, count)

    def _sync_nodes(
        self, set_: DaemonSet, create: list[tuple[str, str]], delete: list[tuple[Pod, str]], hash_text: str
    ) -> NodesOutcome:
        """Create pods in batches of 1, 2, 4, ...; stop after a batch with a failure."""
        errors: list[ApiError] = []
        seen = self._pods_of(set_)
        create, done, size = create[:BURST_REPLICAS], 0, 1
        while done < len(create) and not errors:
            seen = self._pods_of(set_)
            for node, why in create[done : done + size]:
                self._create_pod(set_, new_daemon_pod(set_, node, hash_text), why, errors)
            done, size = done + size, 2 * size
        for pod, why in delete[:BURST_REPLICAS]:
            try:
                self.client.delete(pod, why)
            except ApiError as error:
                self.client.event(set_, "Warning", "FailedDelete", f"Error deleting: {error}")
                errors.append(error)
            else:
                self.client.event(set_, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        return NodesOutcome(seen, bool(create or delete), errors[0] if errors else None)

    def _create_pod(self, set_: DaemonSet, pod: Pod, why: str, errors: list[ApiError]) -> None:
        try:
            created = self.client.create(pod, why)
        except ApiError as error:
            if not is_namespace_terminating(error):  # the namespace is terminating
                self.client.event(set_, "Warning", "FailedCreate", f"Error creating: {error}")
                errors.append(error)
        else:
            self.client.event(set_, "Normal", "SuccessfulCreate", f"Created pod: {created.metadata.name}")

    def _update_status(self, set_: DaemonSet, fits: dict[str, Fit], pods: Sequence[Pod], hash_text: str) -> None:
        status = daemon_set_status(set_, fits, pods_by_node(pods), hash_text, self.clock.now())
        desired, ready = status.desired_number_scheduled, status.number_ready
        why = f"{desired} nodes should have a pod, {status.current_number_scheduled} have one and {ready} are ready"
        self.client.update_status(set_, status, why)
        if set_.spec.min_ready_seconds > 0 and ready != status.number_available:
            self.enqueue(set_, set_.spec.min_ready_seconds * SECOND)

"""Watches one run: passes all observations to the checks of the invariants, and collects the violations.

It listens to the store, to the runtime of each node and to the probers. It costs about 4 % of the life of a pod and is
always on. A violation is reported once for each pod; the run continues.
"""

from __future__ import annotations

from collections.abc import Collection

from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import LoopClock
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.golang.text import duration
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.scenario.ending.failure import Failure
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.nodes import NodeWatch, SimulatedNodeFacts
from kubesim.scenario.invariants.seen import NodeFacts, PodSeen, StoreSeen, mirrored_uid
from kubesim.scenario.invariants.strict.observer import Scene
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.trace import Recorder, Sink
from kubesim.trace.records import Expectation, Record


class InvariantWatch:
    """Checks all invariants of a run. `pods` are those with a sandbox, by uid; the uid of a static pod is that of its
    manifest, which its mirror pod names."""

    def __init__(
        self, clock: LoopClock, store: Store, recorder: Recorder, invariants: Collection[Invariant], expected: set[str]
    ) -> None:
        self.clock = clock
        self.store = store
        self._recorder = recorder
        self._expected = expected  # invariants that the scenario declares as violated
        # By node, then by uid: a manifest may give static pods of several nodes the same uid.
        self._pods: dict[str, dict[str, PodSeen]] = {}
        self.seen = StoreSeen()
        self.failures: list[Failure] = []
        self._reported: dict[tuple[str, str], None] = {}  # by invariant and pod
        self.all = invariants
        self._stored = [(each, each.stored) for each in invariants if each.stored is not None]
        self._status_changed = [(each, each.status_changed) for each in invariants if each.status_changed is not None]
        self._probed = [(each, each.probed) for each in invariants if each.probed is not None]
        self._at_end = [(each, each.at_end) for each in invariants if each.at_end is not None]
        self._nodes: dict[str, NodeFacts] = {}
        scene = Scene(clock, store, self._nodes)
        self._observers = [(each, each.observer(scene)) for each in invariants if each.observer is not None]
        if invariants:
            store.watch_all(self._store_changed)

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """What the trace must be sent to: nothing, without a strict invariant."""
        return (self,) if self._observers else ()

    def watch_node(self, node: SimulatedNode) -> None:
        if self.all:
            pods = self._pods.setdefault(node.name, {})
            facts = self._nodes[node.name] = SimulatedNodeFacts(node)
            node.runtime.watcher = NodeWatch(self, facts, pods)

    # -- the API server -----------------------------------------------------------------------------------------

    def _store_changed(self, change: WatchEvent) -> None:
        obj, seen = change.object, self.seen
        metadata = obj.metadata
        key = (obj.kind, metadata.namespace, metadata.name)
        newest = seen.newest.get(key)
        for invariant, check in self._stored:
            if problem := check(seen, newest, change):
                self.violated(invariant, "", problem)
        seen.version = change.resource_version
        if change.type != "DELETED":
            seen.newest[key] = obj
        elif newest is not None:
            del seen.newest[key]
        if isinstance(obj, Pod):
            self._pod_is(change, obj)

    def _pod_is(self, change: WatchEvent, obj: Pod) -> None:
        metadata, old = obj.metadata, change.previous
        static = mirrored_uid(obj)
        pod = self._find(obj, static or metadata.uid)
        if static and self._newest(obj) is not pod:
            return  # the status of a new static pod is also written to the mirror pod of the previous one
        assert old is None or isinstance(old, Pod)
        for invariant, observer in self._observers:
            if problem := observer.reported(old, obj):
                self.violated(invariant, f"{metadata.namespace}/{metadata.name}", problem, pod)
        if old is None or old.status is not obj.status:
            for invariant, check in self._status_changed:
                if problem := check(pod, old, obj):
                    self.violated(invariant, f"{metadata.namespace}/{metadata.name}", problem, pod)
        if pod is not None:
            self._note(change, obj, pod)

    def _find(self, pod: Pod, uid: str) -> PodSeen | None:
        return self._pods.get(pod.spec.node_name, {}).get(uid)

    def _newest(self, mirror: Pod) -> PodSeen | None:
        """The newest static pod of this name on its node."""
        name = f"{mirror.metadata.namespace}/{mirror.metadata.name}"
        return next((pod for pod in reversed(self._pods[mirror.spec.node_name].values()) if pod.name == name), None)

    def _note(self, change: WatchEvent, obj: Pod, pod: PodSeen) -> None:
        now = self.clock.now()
        before, pod.api = pod.api, obj
        if before is None or before.status.phase != obj.status.phase:
            pod.story.append((now, f"the phase is {obj.status.phase}"))
        grace = obj.metadata.deletion_grace_period_seconds
        if grace is not None and grace not in pod.graces:
            pod.graces = (*pod.graces, grace)
            pod.story.append((now, f"the pod is being deleted with a grace period of {grace}s"))
            if pod.deleted_at is None:
                pod.deleted_at = now
        if change.type == "DELETED":
            pod.gone_at = now
            pod.story.append((now, "the pod is removed from the API server"))
        else:
            pod.gone_at = None

    # -- the trace ----------------------------------------------------------------------------------------------

    def record(self, record: Record) -> None:
        for invariant, observer in self._observers:
            if problem := observer.recorded(record):
                self.violated(invariant, record.pod, problem)

    # -- probes -------------------------------------------------------------------------------------------------

    def probed(self, subject: WorkerSubject, status: PodStatus, container_id: str, now: int) -> None:
        metadata = subject.pod.metadata
        pod = self._find(subject.pod, metadata.uid)
        for invariant, check in self._probed:
            if problem := check(pod, subject, status, container_id, now):
                self.violated(invariant, f"{metadata.namespace}/{metadata.name}", problem, pod)

    # -- the end ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the watch: check what must be gone at the end of a run."""
        for pod in [pod for pods in self._pods.values() for pod in pods.values()]:
            for invariant, check in self._at_end:
                if problem := check(pod, self.clock.now()):
                    self.violated(invariant, pod.name, problem, pod)
        for name in sorted(self._expected - {name for name, _ in self._reported}):
            why = "the scenario expects a violation (invariants.violated), and there was none"
            self.failures.append(Failure("invariant", name, why, at=self.clock.now() - self.clock.start))

    def violated(self, invariant: Invariant, name: str, why: str, pod: PodSeen | None = None) -> None:
        if (invariant.name, name) in self._reported:
            return
        self._reported[invariant.name, name] = None
        start = self.clock.start
        at = self.clock.now() - start
        text = f"{invariant.name}: pod {name}" if name else invariant.name
        why = f"{why}, at {duration(at)}"
        expected = invariant.name in self._expected
        self._recorder.record(Expectation(pod=name, expectation=f"invariant {text}", met=expected, why=why))
        if not expected:
            story = () if pod is None else tuple(f"{duration(max(t - start, 0))} {what}" for t, what in pod.story)
            self.failures.append(Failure("invariant", text, why, pod=name, at=at, records=story))

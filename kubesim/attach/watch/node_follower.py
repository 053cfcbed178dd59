"""The watch-only agent: follows the pods, Events, Lease and Node of one node, and passes them to the shadow.

A thin shell around `attach/shadow/shadow.py`: it lists and watches over a transport that rejects everything else,
estimates the time at the node, and passes every report to the viewer. A connection problem is reported in one line and
retried; changes missed during that time are not reported as divergences.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.model import go
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.attach.explain.observation import event_time, newest_time
from kubesim.attach.explain.periods import DEFAULT_PERIODS, KubeletPeriods
from kubesim.attach.explain.tolerances import RECONNECT
from kubesim.attach.reading.node_names import near_nodes
from kubesim.attach.reading.read import events_about
from kubesim.attach.reading.reference_polls import ReferencePolls
from kubesim.attach.reading.references import references
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.shadow.shadow import Shadow, ShadowReport
from kubesim.attach.watch.restart_signs import PendingFindings
from kubesim.clock import NEVER, LoopClock, Randomness
from kubesim.cluster.remote.answers import Undecodable, decode_object
from kubesim.cluster.remote.transport import Call, ReadOnlyTransport, Transport, read_all
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.concurrency import TaskSet
from kubesim.errors import TransportError
from kubesim.sources.apiserver import pods_of_node
from kubesim.sources.reflector.list_watch import CollectionListener, ListWatch, Watched

KEPT = 1000  # divergences and problems; limits the memory of long watches
# After an outage of the API server the node's kubelet may recover this much later than we do.
CATCHING_UP = RECONNECT
LEASE_DURATION_S = 40  # nodeLeaseDurationSeconds, unless the lease names another
TICK = 1 * SECOND
TIMEOUT_S = 5.0  # for a request for a single pod
UNCLAIMED = 5000  # Events of pods that are not known (yet)
SKEW_SAMPLES = 5
MAX_EVENTS = 50_000  # of all pods of the cluster: Events cannot be selected by node
SKEW_JUMP = 2 * SECOND  # less than the tolerances allow for
OLD_EVENT = 3600 * SECOND  # older Events of the first list explain nothing


ApiT = TypeVar("ApiT", bound=ApiObject)


class NodeLease(ApiObject):
    """The Lease that a kubelet renews while it is alive."""

    spec: dict[str, Any] = go("LeaseSpec")


class Viewer(Protocol):
    """Displays the findings."""

    def reported(self, report: ShadowReport) -> None: ...
    def diverged(self, divergence: Divergence) -> None: ...
    def problem(self, text: str) -> None: ...


class NodeFollower:
    """Follows one node. `run` follows forever; `synced` is set when everything was listed once."""

    def __init__(
        self,
        clock: LoopClock,
        transport: Transport,
        node_name: str,
        viewer: Viewer,
        *,
        with_references: bool = False,
        periods: KubeletPeriods = DEFAULT_PERIODS,
    ) -> None:
        self.shadow = Shadow(periods)
        self.shadow.clock_known = False
        self.node_name = node_name
        self.divergences: deque[Divergence] = deque(maxlen=KEPT)
        self.divergence_count = 0
        self.problems: deque[str] = deque(maxlen=KEPT)
        self.observations = 0
        self._clock = clock
        self._lease_listed_at: int | None = None
        self._transport = ReadOnlyTransport(transport)
        self._viewer = viewer
        self._reference_polls = self._make_reference_polls() if with_references else None
        self._listed: set[str] = set()
        self._is_disconnected = False
        self._reported: set[str] = set()  # errors since the last success
        self._caught_up_at = 0
        self._skews: deque[int] = deque(maxlen=SKEW_SAMPLES)
        self._unclaimed: deque[Event] = deque(maxlen=UNCLAIMED)
        self._renewed_at: int | None = None
        self._renewal_came_at = 0
        self._ahead = 0
        # A kubelet renews its lease every 10 s by default, with 4 % jitter (component-helpers lease controller). Two
        # renewals measure its clock; a kubelet that is later than that has lost its API server.
        self._measuring = periods.lease_renewal * 21 // 10
        self._pending_findings = PendingFindings()
        self._kept_skew = 0  # the skew of the times in the shadow
        self._reached = -NEVER  # an upper bound of how far the node's clock is behind ours, from the times in statuses

    def _make_reference_polls(self) -> ReferencePolls:
        shadow, problem = self.shadow, self._viewer.problem
        return ReferencePolls(
            self._clock, self._transport, shadow.followed, shadow.objects, self._object_changed, problem
        )

    # -- lists and watches --------------------------------------------------------------------------------------

    def start(self, tasks: TaskSet, chance: Randomness) -> None:
        about_pods = {"fieldSelector": "involvedObject.kind=Pod"}
        about_node = {"fieldSelector": f"involvedObject.kind=Node,involvedObject.name={self.node_name}"}
        itself = {"fieldSelector": f"metadata.name={self.node_name}"}
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        of_pods = Watched("/api/v1/events", Event, "Event", selectors=about_pods, most=MAX_EVENTS)
        # Events and the Node first: they improve the explanations of pods.
        self._follow(tasks, chance, Watched("/api/v1/nodes", Node, "Node", selectors=itself), _OfNode(self))
        self._follow(tasks, chance, of_pods, _OfEvents(self))
        of_node = Watched("/api/v1/events", Event, "Event", selectors=about_node)
        self._follow(tasks, chance, of_node, _OfEvents(self, " of the node"))
        watched = Watched(leases, NodeLease, "Lease", "coordination.k8s.io/v1", selectors=itself)
        self._follow(tasks, chance, watched, _OfLease(self))
        self._follow(tasks, chance, pods_of_node(self.node_name), _OfPods(self))
        tasks.start("clock of the shadow", self._tick())
        if self._reference_polls is not None:
            tasks.start("looks at references", self._reference_polls.run())

    def _follow(
        self, tasks: TaskSet, chance: Randomness, watched: Watched[ApiT], listener: CollectionListener[ApiT]
    ) -> None:
        stream = chance.stream("attach", watched.kind, str(watched.selectors))
        # Changes that the pod watch misses would be blamed on the kubelet; the other watches only improve explanations.
        report = self._cut_off if watched.kind == "Pod" else self._problem
        following = ListWatch(self._clock, self._transport, stream, watched, listener, report)
        tasks.start(f"watch of {watched.kind}s", following.run())

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(TICK)
            measuring = self._lease_listed_at is None or self._clock.now() <= self._lease_listed_at + self._measuring
            known = bool(self._skews) or not measuring
            if known and abs(self.skew() - self._kept_skew) >= SKEW_JUMP:
                self._kept_skew = self.skew()
                self.shadow.clock_set(self.now())
            self.shadow.clock_known = known
            if self.kubelet_is_cut_off:
                self.shadow.missed()
            for pod in self.shadow.overdue(self.now()):
                if not await self._is_as_seen(pod) and pod.metadata.uid in self.shadow.pods:
                    self.shadow.missed(pod.metadata.uid)
            self._diverged(self.shadow.tick(self.now()))
            self._publish(self._pending_findings.due(self.now()))

    async def _is_as_seen(self, pod: Pod) -> bool:
        """Whether the server has nothing newer of a pod: a stalled watch is not a divergence of the kubelet."""
        meta = pod.metadata
        call = Call("get", f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}", timeout_s=TIMEOUT_S)
        try:
            async with self._transport.open(call) as reply:
                body = await read_all(reply)
                there = decode_object(body, "Pod")["metadata"] if reply.status == 200 else {}
        except (TransportError, Undecodable, KeyError):
            return False
        return isinstance(there, dict) and there.get("resourceVersion") == meta.resource_version

    def _cut_off(self, text: str) -> None:
        self._is_disconnected = True
        self._problem(text)

    def _problem(self, text: str) -> None:
        """Report a problem once: all watches meet it, repeatedly, until one of them succeeds again."""
        self.problems.append(text)
        reason = text.partition(": ")[2].partition("; again in")[0]
        if reason not in self._reported:
            if len(self._reported) >= KEPT:
                self._reported.clear()
            self._reported.add(reason)
            self._viewer.problem(text)

    async def near_nodes(self) -> tuple[str, ...]:
        """Nodes of the cluster with names similar to the followed one."""
        return await near_nodes(self._transport, self.node_name)

    # -- state --------------------------------------------------------------------------------------------------

    def now(self) -> int:
        """The time of the node, as precisely as it can be measured."""
        return self._clock.now() + self.skew()

    def skew(self) -> int:
        """How far the node's clock is ahead of ours, from its lease renewals; small differences are ignored.

        A single renewal gives only a lower bound: the node cannot have written a time in its future.
        """
        best = max(self._skews) if self._skews else self._ahead  # the renewal with the shortest delay
        best = max(best, self._reached)
        return best if abs(best) >= SECOND else 0

    @property
    def measured_skew(self) -> int | None:
        return max(self._skews) if self._skews else None

    @property
    def lease_age(self) -> int | None:
        """The time since the node renewed its lease."""
        return None if self._renewed_at is None else self.now() - self._renewed_at

    @property
    def kubelet_is_cut_off(self) -> bool:
        """Whether the kubelet has stopped renewing its lease in time."""
        age = self.lease_age
        return len(self._skews) > 1 and age is not None and age > self._measuring

    def has_listed(self, *kinds: str) -> bool:
        return self._listed.issuperset(kinds)

    @property
    def references_checked(self) -> bool:
        """Whether every object that waiting pods refer to was looked up."""
        return self._reference_polls is None or self._reference_polls.complete

    @property
    def connected(self) -> bool:
        return not self._is_disconnected and self.has_listed("Pod")

    # -- observations -------------------------------------------------------------------------------------------

    def listed(self, kind: str) -> None:
        if kind == "Lease" and self._lease_listed_at is None:
            self._lease_listed_at = self._clock.now()
        self._listed.add(kind)

    def received(self) -> None:
        """Note that data was received: after a connection problem, the next data may be late."""
        now = self._clock.now()
        if self._is_disconnected:
            self._is_disconnected = False
            self._reported.clear()
            self._caught_up_at = now + CATCHING_UP
        if now < self._caught_up_at:
            self.shadow.missed()

    def pod_received(self, pod: Pod) -> None:
        self.observations += 1
        new = pod.metadata.uid not in self.shadow.pods
        # A delayed lease watch looks like a clock that is behind.
        self._reached = max(self._reached, min(0, newest_time(pod) - self._clock.now()))
        self._report(self.shadow.observe_pod(pod, self.now()))
        if new and self._unclaimed:
            claimed = events_about(pod, self._unclaimed)
            for event in claimed:
                self._unclaimed.remove(event)
                self.event_received(event, history=True)

    def pod_removed(self, pod: Pod) -> None:
        self.observations += 1
        self._report(self.shadow.observe_removal(pod, self.now()))

    def event_received(self, event: Event, *, history: bool = False) -> None:
        self.observations += 1
        if not self.shadow.knows(event):
            # The watches are independent: an Event may arrive before its pod.
            if event.source.host in ("", self.node_name):
                self._unclaimed.append(event)
            return
        self._report(self.shadow.observe_event(event, self.now(), history=history))

    def lease_received(self, lease: NodeLease, *, listed: bool = False) -> None:
        spec = lease.spec or {}
        text = spec.get("renewTime")
        if not text:
            return
        # A kubelet renews after a quarter of the duration or later; a tenth of it allows for clock errors.
        shortest_interval = int(spec.get("leaseDurationSeconds") or LEASE_DURATION_S) * SECOND * 9 // 40
        renewed, now = parse_time(text), self._clock.now()
        # If two Events were received as far apart as they were written, neither was delayed; one from a list may be
        # old.
        if self._renewed_at is not None and renewed > self._renewed_at:
            if renewed - self._renewed_at < shortest_interval:
                self.shadow.kubelet_started(renewed)  # outside the usual interval: a new kubelet renews immediately
            apart = (now - self._renewal_came_at) - (renewed - self._renewed_at)
            if abs(apart) < SECOND and not listed:
                self._skews.append(renewed - now)
        self._ahead = max(0, renewed - now)
        self._renewed_at, self._renewal_came_at = renewed, now

    def _object_changed(self, key: ObjectKey) -> None:
        """Mark the pods that refer to a changed object: their statements may change."""
        for uid, tracked in self.shadow.pods.items():
            if any(reference.key == key for reference in references(tracked.pod)):
                self._viewer.reported(ShadowReport(self.shadow.statement(uid, self.now())))

    def _report(self, report: ShadowReport) -> None:
        self._viewer.reported(report)
        self._diverged(report.divergences)

    def node_received(self, node: Node | None) -> None:
        self.shadow.observe_node(node)
        self._pending_findings.node_received(node)

    def settle(self) -> None:
        """Pass on the findings that were held back: nothing more is received."""
        self._publish(self._pending_findings.due())

    def _diverged(self, found: Iterable[Divergence]) -> None:
        self._pending_findings.explained(self.shadow.kubelet_since)
        for divergence in found:
            if not divergence.of_memory:
                self._publish([divergence])
                continue
            self._pending_findings.hold(divergence)
            restarted = self._pending_findings.restart()
            if restarted is not None:
                self.shadow.kubelet_started(restarted)
                self._pending_findings.explained(restarted)

    def _publish(self, found: Iterable[Divergence]) -> None:
        for divergence in found:
            self.divergence_count += 1
            self.divergences.append(divergence)
            self._viewer.diverged(divergence)


class _Reported:
    """Implements the methods of all listeners. Nothing is queued, so there is always room."""

    def __init__(self, agent: NodeFollower) -> None:
        self.agent = agent

    async def room(self) -> None:
        return None


class _OfPods(_Reported):
    def replaced(self, objects: Iterable[Pod]) -> None:
        agent = self.agent
        if agent.has_listed("Pod"):
            agent.shadow.missed()
        agent.received()
        found = list(objects)
        there = {pod.metadata.uid for pod in found}
        for gone in [tracked.pod for uid, tracked in agent.shadow.pods.items() if uid not in there]:
            agent.pod_removed(gone)
        for pod in found:
            agent.pod_received(pod)
        agent.listed("Pod")

    def changed(self, obj: Pod) -> None:
        self.agent.received()
        self.agent.pod_received(obj)

    def removed(self, obj: Pod) -> None:
        self.agent.received()
        self.agent.pod_removed(obj)


class _OfEvents(_Reported):
    """Receives Events. Only those of known pods are kept; an Event that arrives before its pod is passed on with the
    pod."""

    def __init__(self, agent: NodeFollower, what: str = "") -> None:
        super().__init__(agent)
        self._what = what

    def replaced(self, objects: Iterable[Event]) -> None:
        """Handle a list: its Events are history, because the time of their receipt and the number of missed ones are
        unknown."""
        now = self.agent.now()
        self.agent.shadow.missed_events()
        for event in sorted(objects, key=event_time):
            if now - event_time(event) < OLD_EVENT:
                self.agent.event_received(event, history=True)
        self.agent.listed("Event" + self._what)

    def changed(self, obj: Event) -> None:
        self.agent.event_received(obj)

    def removed(self, obj: Event) -> None:
        """Ignore the removal: Events expire, but remain true."""


class _OfNode(_Reported):
    def replaced(self, objects: Iterable[Node]) -> None:
        self.agent.node_received(next(iter(objects), None))
        self.agent.listed("Node")

    def changed(self, obj: Node) -> None:
        self.agent.node_received(obj)

    def removed(self, obj: Node) -> None:
        self.agent.node_received(None)


class _OfLease(_Reported):
    def replaced(self, objects: Iterable[NodeLease]) -> None:
        for lease in objects:
            self.agent.lease_received(lease, listed=True)
        self.agent.listed("Lease")

    def changed(self, obj: NodeLease) -> None:
        self.agent.lease_received(obj)

    def removed(self, obj: NodeLease) -> None:
        """Remove the lease with its node."""

"""The node lifecycle controller: marks a node without a heartbeat Unknown and its pods not ready, and adds NoExecute
taints to nodes that are not ready, unless too many are.

Mirrors: pkg/controller/nodelifecycle/node_lifecycle_controller.go monitorNodeHealth, tryUpdateNodeHealth,
processTaintBaseEviction, doNoExecuteTaintingPass, handleDisruption, ComputeZoneState; pkg/controller/util/node
MarkPodsNotReady
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from kubesim.api.node import Node, Taint
from kubesim.api.pod import Pod
from kubesim.api.pods.pod_conditions import with_condition
from kubesim.api.timestamps import SECOND, format_time
from kubesim.clock import NEVER
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.nodes.taint_eviction import NO_EXECUTE
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import Ticker
from kubesim.concurrency.token_bucket import TokenBucket

MONITOR_PERIOD = 5 * SECOND
GRACE_PERIOD = 50 * SECOND  # how long a node may miss heartbeats
EVICTION_QPS = 0.1  # nodes per second and zone
UNHEALTHY_ZONE = 0.55  # fraction of a zone's nodes, if more than two
LARGE_ZONE = 50
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_ZONE_LABELS = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")

ZoneState = Literal["normal", "partial disruption", "full disruption"]


def zone_of(node: Node) -> str:
    return ":".join(node.metadata.labels.get(label, "") for label in _ZONE_LABELS)


def ready_status(node: Node) -> str:
    return next((c.status for c in node.status.conditions if c.type == "Ready"), "Unknown")


def zone_states(nodes: Iterable[Node]) -> Mapping[str, ZoneState]:
    ready: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    for node in nodes:
        (ready if ready_status(node) == "True" else bad)[zone_of(node)] += 1

    def state(zone: str) -> ZoneState:
        if bad[zone] and not ready[zone]:
            return "full disruption"
        if bad[zone] > 2 and bad[zone] / (bad[zone] + ready[zone]) >= UNHEALTHY_ZONE:
            return "partial disruption"
        return "normal"

    return {zone: state(zone) for zone in (*ready, *bad)}


def nodes_to_taint(nodes: Iterable[Node]) -> dict[str, str]:
    """The NoExecute taint of each node that is not ready, by name.

    None if no node is ready, as the controller itself is probably disconnected. A small zone with mostly unready nodes
    evicts no pods either.
    """
    nodes = list(nodes)
    states, sizes = zone_states(nodes), Counter(map(zone_of, nodes))
    if all(state == "full disruption" for state in states.values()):
        return {}
    keys = {"False": NOT_READY, "Unknown": UNREACHABLE}
    wanted = {}
    for node in nodes:
        zone, key = zone_of(node), keys.get(ready_status(node))
        if key is not None and (states[zone] != "partial disruption" or sizes[zone] > LARGE_ZONE):
            wanted[node.metadata.name] = key
    return wanted


def with_no_execute_taint(node: Node, key: str | None, now: int) -> Node:
    """The node with this taint instead of the other NoExecute taint; None removes both."""
    if _own_taints(node) == ([key] if key else []):
        return node
    kept = [t for t in node.spec.taints if t.effect != NO_EXECUTE or t.key not in (NOT_READY, UNREACHABLE)]
    if key:
        kept.append(Taint(key=key, effect=NO_EXECUTE, time_added=format_time(now)))
    return node.changed(spec=node.spec.changed(taints=tuple(kept)))


def _own_taints(node: Node) -> list[str]:
    """The taints that this controller adds and removes."""
    return [t.key for t in node.spec.taints if t.effect == NO_EXECUTE and t.key in (NOT_READY, UNREACHABLE)]


class NodeMonitor:
    """The controller. Nodes notify it when they stop and resume reporting."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = clock = context.clock
        self._store = store = context.store
        self._client = ControllerClient(context, "node-controller")
        self._silent: dict[str, int | None] = {}  # when the last heartbeat was noticed; None: already Unknown
        self._limits: dict[str, TokenBucket] = {}
        self._waiting: dict[str, int] = {}  # nodes to taint, with their due time
        self._ready_changed = False  # a node changed since the last pass
        self._ticker = Ticker(clock, "node monitor", MONITOR_PERIOD, late=False)
        self._ticker.on_tick = self._monitor_node_health
        self._started = clock.now()
        store.watch("Node", self._node_changed)

    def _monitor_node_health(self, now: int) -> int:
        """Mark silent nodes Unknown, and taint nodes that are not ready."""
        noticed = {name: moment for name, moment in self._silent.items() if moment is not None}
        lost = [name for name, moment in noticed.items() if now > moment + GRACE_PERIOD]
        for name in lost:
            self._silent[name] = None
            self._give_up(name)
        if self._ready_changed:
            self._ready_changed = False
            self._taint_all()
        elif not lost:
            return min([NEVER, *(moment + GRACE_PERIOD + 1 for moment in noticed.values())])
        return 0

    # -- silence ------------------------------------------------------------------------------------------------

    def stopped_reporting(self, name: str, last_report: int) -> None:
        """A node stopped reporting. The next tick records its last heartbeat."""
        periods = -(-(last_report - self._started) // MONITOR_PERIOD)
        self._silent.setdefault(name, self._started + periods * MONITOR_PERIOD)

    def is_reporting(self, name: str) -> None:
        self._silent.pop(name, None)

    def _give_up(self, name: str) -> None:
        node = self._store.find("Node", "", name)
        if not isinstance(node, Node):
            return
        was_ready = ready_status(node) == "True"
        why = f"node {name} has not been heard of for {GRACE_PERIOD // SECOND} s"
        moment = format_time(self._store.now())
        conditions = tuple(
            c.changed(
                status="Unknown",
                reason="NodeStatusUnknown",
                message="Kubelet stopped posting node status.",
                last_transition_time=moment,
            )
            if c.type in _REPORTED and c.status != "Unknown"
            else c
            for c in node.status.conditions
        )
        self._client.patch(node, node.changed(status=node.status.changed(conditions=conditions)), why, "status")
        if was_ready:
            self._client.event(node, "Normal", "NodeNotReady", f"Node {name} status is now: NodeNotReady")
            self._mark_pods_not_ready(name)

    def _mark_pods_not_ready(self, name: str) -> None:
        """Set Ready to False, as the kubelet cannot."""
        for pod in self._store.list("Pod"):
            if not isinstance(pod, Pod) or pod.spec.node_name != name:
                continue
            ready = next((c for c in pod.status.conditions if c.type == "Ready" and c.status != "False"), None)
            if ready is not None:
                moment = format_time(self._store.now())
                condition = ready.changed(status="False", last_transition_time=moment)
                status = pod.status.changed(conditions=with_condition(pod.status.conditions, condition))
                self._store.set_pod_status(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, status)
                self._client.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    # -- taints -------------------------------------------------------------------------------------------------

    def _node_changed(self, change: WatchEvent) -> None:
        node, old = change.object, change.previous
        assert isinstance(node, Node)
        if old is None or (isinstance(old, Node) and ready_status(old) != ready_status(node)):
            self._ready_changed = True

    def _taint_all(self) -> None:
        nodes = [node for node in self._store.list("Node") if isinstance(node, Node)]
        wanted = nodes_to_taint(nodes)
        for node in nodes:
            key, name = wanted.get(node.metadata.name), node.metadata.name
            if key is None:
                self._waiting.pop(name, None)
            if key is None or _own_taints(node):  # added, removed or replaced in one write
                self._taint(name, key)
            elif name not in self._waiting:
                self._waiting[name] = self._turn(zone_of(node))
                self._clock.call_at(self._waiting[name], self._turn_has_come, name)

    def _turn(self, zone: str) -> int:
        """When the node's turn comes: taints are rate-limited per zone."""
        now = self._clock.now()
        return now + self._limits.setdefault(zone, TokenBucket(EVICTION_QPS, 1)).reserve(now)

    def _turn_has_come(self, name: str) -> None:
        if self._waiting.get(name) == self._clock.now():
            del self._waiting[name]
            nodes = [node for node in self._store.list("Node") if isinstance(node, Node)]
            self._taint(name, nodes_to_taint(nodes).get(name))

    def _taint(self, name: str, key: str | None) -> None:
        node = self._store.find("Node", "", name)
        if not isinstance(node, Node):
            return
        tainted = with_no_execute_taint(node, key, self._store.now())
        if tainted is not node:
            why = f"node {name} is not ready" if key else f"node {name} is ready again, or no node is"
            self._client.patch(node, tainted, why, shown={"taint": f"{key}:{NO_EXECUTE}" if key else ""})

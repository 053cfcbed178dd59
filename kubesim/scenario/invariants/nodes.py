"""The runtime of one node as the invariants see it: tracks running containers, and runs the checks at each change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.features.rules import Rules
from kubesim.podworkers.sync_status import PodSyncStatus
from kubesim.runtime.protocol import ContainerInfo, SandboxConfig, SandboxInfo
from kubesim.runtime.simulated.cri.watcher import Killer, RuntimeWatcher
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import NodeFacts, PodSeen, SandboxSeen, StopCall, mirrored_uid
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.scenario.invariants.watch import InvariantWatch


@part
class SimulatedNodeFacts:
    """Implements `NodeFacts`."""

    node: SimulatedNode

    @property
    def rules(self) -> Rules:
        return self.node.gates.rules

    @property
    def undisturbed_since(self) -> int | None:
        node, service = self.node, self.node.service
        if not (node.kubelet_runs and node.api.up and service.up) or service.hangs:
            return None
        return node.last_disturbance()

    @property
    def is_shutting_down(self) -> bool:
        node_managers = self.node.kubelet.node_managers
        return node_managers is not None and node_managers.shutdown.shutting_down

    @property
    def eviction_grace_s(self) -> int:
        eviction = self.node.kubelet.settings.eviction
        has_soft = any(not threshold.is_hard for threshold in eviction.thresholds)
        return eviction.max_pod_grace_period_s if has_soft else self.rules.hard_eviction_grace_s

    def worker(self, uid: str) -> PodSyncStatus | None:
        return self.node.kubelet.views.states.statuses.get(uid)


class NodeWatch(RuntimeWatcher):
    """Tracks one node. `pods` are the pods that its runtime has had, by uid."""

    def __init__(self, watch: InvariantWatch, node: NodeFacts, pods: dict[str, PodSeen]) -> None:
        self._watch, self._node, self._pods, self._clock = watch, node, pods, watch.clock
        invariants = watch.all
        self._started = [(each, each.started) for each in invariants if each.started is not None]
        self._connected = [(each, each.connected) for each in invariants if each.connected is not None]
        self._stopping = [(each, each.stopping) for each in invariants if each.stopping is not None]
        self._killed = [(each, each.killed) for each in invariants if each.killed is not None]
        self._ended = [(each, each.ended) for each in invariants if each.ended is not None]
        self._sandbox_up = [(each, each.sandbox_up) for each in invariants if each.sandbox_up is not None]
        self._sandbox_ended = [(each, each.sandbox_ended) for each in invariants if each.sandbox_ended is not None]

    def _object(self, invariant: Invariant, problem: str, pod: PodSeen) -> None:
        self._watch.violated(invariant, pod.name, problem, pod)

    # -- sandboxes ----------------------------------------------------------------------------------------------

    def sandbox_made(self, info: SandboxInfo, config: SandboxConfig) -> None:
        pod = self._pods.get(info.pod_uid)
        if pod is None:
            pod = self._pods[info.pod_uid] = self._new_pod(config.pod)
        pod.spec = config.pod
        ip = "" if info.network is None else info.network.ip
        pod.sandboxes[info.id] = SandboxSeen(ip)
        pod.story.append((info.created_at, f"sandbox {info.id[:12]} is made"))
        if ip:
            for invariant, check in self._sandbox_up:
                if problem := check(self._watch.seen, pod, ip):
                    self._object(invariant, problem, pod)
            self._watch.seen.addresses[ip] = pod.name

    def _new_pod(self, spec: Pod) -> PodSeen:
        metadata = spec.metadata
        found = self._watch.store.find("Pod", metadata.namespace, metadata.name)
        pod = PodSeen(spec, self._node)
        if isinstance(found, Pod) and metadata.uid in (found.metadata.uid, mirrored_uid(found)):
            pod.api = found
        elif not is_static_pod(spec):
            pod.gone_at = self._clock.now()
        return pod

    def sandbox_ended(self, info: SandboxInfo, has_address: bool) -> None:
        pod = self._pods[info.pod_uid]
        pod.story.append((self._clock.now(), f"sandbox {info.id[:12]} ends"))
        for invariant, check in self._sandbox_ended:
            if problem := check(pod, has_address):
                self._object(invariant, problem, pod)
        ip = pod.sandboxes[info.id].ip
        if ip and not has_address:
            self._watch.seen.addresses.pop(ip, None)

    def sandbox_removed(self, info: SandboxInfo) -> None:
        pod = self._pods[info.pod_uid]
        del pod.sandboxes[info.id]
        if not pod.sandboxes and not pod.running and pod.gone_at is not None:
            del self._pods[info.pod_uid]

    # -- containers ---------------------------------------------------------------------------------------------

    def started(self, info: ContainerInfo, has_network: bool) -> None:
        pod, now = self._pods[info.pod_uid], self._clock.now()
        pod.story.append((now, f"container {info.name} starts as {info.id[:12]}"))
        for invariant, check in self._started:
            if problem := check(pod, info, now):
                self._object(invariant, problem, pod)
        for invariant, connected in self._connected:
            if problem := connected(pod, info, has_network):
                self._object(invariant, problem, pod)
        pod.running[info.id] = info
        pod.sandboxes[info.sandbox_id].started.add(info.name)

    def stopping(self, info: ContainerInfo, timeout: int) -> None:
        pod, now = self._pods[info.pod_uid], self._clock.now()
        pod.story.append((now, f"container {info.name} is being stopped"))
        for invariant, check in self._stopping:
            if problem := check(pod, info, timeout, now):
                self._object(invariant, problem, pod)
        # Another caller's stop; the container is killed when the earlier grace period is over.
        earlier = pod.stops.get(info.id)
        if earlier is None or now + timeout < earlier.kill_at:
            pod.stops[info.id] = StopCall(now, timeout)
        pod.stop_requested.add(info.id)

    def stop_is_over(self, info: ContainerInfo) -> None:
        pod = self._pods.get(info.pod_uid)
        if pod is not None:
            pod.stops.pop(info.id, None)

    def killed(self, info: ContainerInfo, by: Killer) -> None:
        pod = self._pods[info.pod_uid]
        for invariant, check in self._killed:
            if problem := check(pod, info, by, self._clock.now()):
                self._object(invariant, problem, pod)

    def ended(self, info: ContainerInfo) -> None:
        pod = self._pods.get(info.pod_uid)
        if pod is None:
            return  # the exit was noticed after everything was removed
        now = self._clock.now()
        pod.story.append((now, f"container {info.name} ends with {info.exit_code}"))
        for invariant, check in self._ended:
            if problem := check(pod, info, now):
                self._object(invariant, problem, pod)
        pod.running.pop(info.id, None)
        pod.stops.pop(info.id, None)
        pod.ended[info.id] = info
        sandbox = pod.sandboxes.get(info.sandbox_id)
        if sandbox is not None and info.exit_code == 0:
            sandbox.succeeded.add(info.name)

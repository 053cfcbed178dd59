"""The Node object at registration, and the node's Lease (its heartbeat).

Mirrors: pkg/kubelet/kubelet_node_status.go initialNode, nodestatus/setters.go; component-helpers lease controller.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.node import Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, Taint
from kubesim.api.timestamps import SECOND, format_micro_time, format_time
from kubesim.clock import NEVER, LoopClock
from kubesim.clock.randomness import Stream
from kubesim.concurrency import JitteredTicker
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.features.releases import RELEASES, RUNTIMES
from kubesim.kubelet.admission.pod_features import declared_features
from kubesim.kubelet.cm.node_allocatable import (
    NOTHING_RESERVED,
    NodeAllocatableConfig,
    node_allocatable,
    node_allocatable_reservation,
)
from kubesim.kubelet.settings import KubeletSettings
from kubesim.runtime.allocation.swap import NodeSwap

LEASE_NAMESPACE = "kube-node-lease"
LEASE_DURATION_S = 40
RENEWALS = 4  # per lease duration
RENEW_JITTER = 0.04
DEFAULT_CAPACITY: Mapping[str, str] = {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi"}

_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def initial_node(
    settings: KubeletSettings,
    now: int,
    *,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    capacity: Mapping[str, str | int | float] | None = None,
    config: NodeAllocatableConfig = NOTHING_RESERVED,
    provider_id: str = "",
    gates: FeatureGates = DEFAULT_GATES,
) -> Node:
    """The Node of a healthy kubelet without pods."""
    name = settings.node_name
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    resources = {**DEFAULT_CAPACITY, "pods": str(settings.max_pods), **(capacity or {})}
    moment = format_time(now)
    return Node(
        api_version="v1",
        kind="Node",
        metadata=ObjectMeta(name=name, labels={**own, **(labels or {})}),
        spec=NodeSpec(taints=taints).changed(**({"provider_id": provider_id} if provider_id else {})),
        status=NodeStatus(
            declared_features=declared_features(gates),
            capacity=resources,
            allocatable=node_allocatable(resources, node_allocatable_reservation(resources, config)),
            conditions=tuple(
                NodeCondition(
                    type=type,
                    status=status,
                    reason=reason,
                    message=message,
                    last_heartbeat_time=moment,
                    last_transition_time=moment,
                )
                for type, status, reason, message in _CONDITIONS
            ),
            addresses=(
                *(NodeAddress(type="InternalIP", address=ip) for ip in settings.host_ips),
                # an API server dials the Hostname first, so it must lead to the kubelet's server
                NodeAddress(type="Hostname", address=settings.host_ips[0] if settings.port else name),
            ),
            daemon_endpoints={"kubeletEndpoint": {"Port": settings.port}} if settings.port else {},
            node_info={
                "kubeletVersion": RELEASES[gates.profile],
                "containerRuntimeVersion": RUNTIMES[gates.profile],
                "operatingSystem": "linux",
                "architecture": "amd64",
                **_swap(settings.swap, gates),
            },
        ),
    )


def _swap(swap: NodeSwap | None, gates: FeatureGates) -> dict[str, object]:
    return {} if swap is None or not gates.enabled("NodeSwap") else {"swap": {"capacity": swap.capacity}}


class Heartbeat(JitteredTicker):
    """The Lease of one node, renewed at each tick. The API server computes it on read (`lease`)."""

    def __init__(
        self, clock: LoopClock, node_name: str, stream: Stream, *, jitter: bool, duration_s: int = LEASE_DURATION_S
    ) -> None:
        interval, spread = duration_s * SECOND // RENEWALS, RENEW_JITTER if jitter else 0.0
        super().__init__(clock, "lease", lambda: interval + round(interval * spread * stream.random()))
        self._node_name = node_name
        self._duration_s = duration_s
        self._acquired = self.renewed_at = clock.now()
        self._is_paused = False
        self.on_renewal: Callable[[], None] = lambda: None
        self.on_tick = self.on_skip = self._renew

    def _renew(self, moment: int) -> int:
        self.renewed_at = moment
        self.on_renewal()
        return NEVER

    def pause(self) -> int:
        """Stop renewing. Returns the time of the last renewal."""
        self.stop()
        self._is_paused = True
        return self.renewed_at

    def resume(self) -> None:
        """Renew now and resume; does nothing if renewal was not paused."""
        if self._is_paused:
            self._is_paused = False
            self._renew(self._clock.now())
            self.reset(self.renewed_at + self._draw())

    def lease(self) -> ApiObject:
        """The Lease as the API server currently has it."""
        return ApiObject.from_json(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self._node_name, "namespace": LEASE_NAMESPACE},
                "spec": {
                    "holderIdentity": self._node_name,
                    "leaseDurationSeconds": self._duration_s,
                    "acquireTime": format_micro_time(self._acquired),
                    "renewTime": format_micro_time(self.renewed_at + self._clock.wall() - self._clock.now()),
                },
            }
        )

"""The node as its kubelet registers it, and the lease with which it says that it is alive.

Renewing a lease changes nothing that a run depends on, so no renewal is executed: `renewed_at` tells when the last one
was, and the jitter between them is drawn when somebody asks.

Mirrors: pkg/kubelet/kubelet_node_status.go initialNode, nodestatus/setters.go; component-helpers lease controller.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.node import Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, Taint
from kubesim.api.quantity import Quantity, quantity
from kubesim.api.timestamps import SECOND, format_micro_time, format_time
from kubesim.clock.randomness import Stream
from kubesim.kubelet.settings import KubeletSettings

KUBELET_VERSION = "v1.36.4"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_DURATION_S = 40
RENEWALS = 4  # while a lease lasts
RENEW_JITTER = 0.04
_NEVER = 1 << 62
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
    reserved: Mapping[str, Quantity] | None = None,
    provider_id: str = "",
) -> Node:
    """A node that is well, with nothing on it. What is reserved is not for pods; what a hard eviction threshold keeps
    free is not subtracted: a scenario's capacity is what pods can have."""
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
            capacity=resources,
            allocatable=allocatable(resources, reserved or {}),
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
                NodeAddress(type="Hostname", address=name),
            ),
            node_info={
                "kubeletVersion": KUBELET_VERSION,
                "containerRuntimeVersion": "containerd://2.3.0",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        ),
    )


def allocatable(
    capacity: Mapping[str, str | int | float], reserved: Mapping[str, Quantity]
) -> dict[str, str | int | float]:
    """What is left for pods, never less than nothing."""
    left = dict(capacity)
    for resource in reserved.keys() & capacity.keys():
        remaining = quantity(capacity[resource]) - reserved[resource]
        left[resource] = str(remaining) if remaining.sign > 0 else "0"
    return left


class Heartbeat:
    """The lease of one node."""

    def __init__(
        self, node_name: str, started: int, stream: Stream, *, jitter: bool, duration_s: int = LEASE_DURATION_S
    ) -> None:
        self._node_name = node_name
        self._duration_s = duration_s
        self._interval = duration_s * SECOND // RENEWALS
        self._acquired = self._last = started
        self._stream = stream
        self._jitter = RENEW_JITTER if jitter else 0.0
        self._next = started + self._draw()

    def _draw(self) -> int:
        return self._interval + round(self._interval * self._jitter * self._stream.random())

    def renewed_at(self, now: int) -> int:
        """The moment of the last renewal. Time only goes forward."""
        while self._next <= now:
            self._last = self._next
            self._next += self._draw()
        return self._last

    def pause(self, now: int) -> int:
        """Nobody renews it any more; the answer is when that was done last."""
        last = self.renewed_at(now)
        self._next = _NEVER
        return last

    def resume(self, now: int) -> None:
        """Renew it now, and from now on; nothing if it was not paused."""
        if self._next == _NEVER:
            self._last, self._next = now, now + self._draw()

    def lease(self, now: int) -> ApiObject:
        """The lease as the API server has it at this moment."""
        return ApiObject.from_json(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self._node_name, "namespace": LEASE_NAMESPACE},
                "spec": {
                    "holderIdentity": self._node_name,
                    "leaseDurationSeconds": self._duration_s,
                    "acquireTime": format_micro_time(self._acquired),
                    "renewTime": format_micro_time(self.renewed_at(now)),
                },
            }
        )

"""The inputs of a pod status as one value, with the answers of upstream's managers as data.

Syncs collect it (runtime cache, status manager, reason cache, probe manager, clock) and pass it to
`generate_api_pod_status`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from kubesim.api.pod import Pod, PodCondition, PodStatus
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.types import ProbeResult, RuntimePodStatus
from kubesim.values import value_object

ProbeType = Literal["liveness", "readiness", "startup"]


@value_object
class StatusInputs:
    """Inputs of one status. `pod` has its allocated resources; its own status is that of the API server."""

    pod: Pod
    runtime: RuntimePodStatus
    now: int
    # Creation time of the probe manager.
    kubelet_start: int
    # The status manager's status; None: it has none.
    cached_status: PodStatus | None = None
    # Start failures: (reason, message) by container name.
    reasons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Probe results by container id.
    readiness: Mapping[str, ProbeResult] = field(default_factory=dict)
    startup: Mapping[str, ProbeResult] = field(default_factory=dict)
    # Probes with a worker: (container name, probe).
    probe_workers: frozenset[tuple[str, ProbeType]] = frozenset()
    pod_is_terminal: bool = False
    # The node's addresses; empty: a kubelet without an API server, which does not know them.
    host_ips: tuple[str, ...] = ()
    # The kubelet's first --node-ip is an IPv6 address.
    prefers_ipv6: bool = False
    # The status manager's PodResizePending and PodResizeInProgress.
    resize_conditions: tuple[PodCondition, ...] = ()
    # The pod cgroup's resources; None: it cannot be read.
    pod_cgroup: ResourceConfig | None = None
    # Whether the pod's runtime handler supports recursive read-only mounts.
    supports_recursive_read_only: bool = False
    gates: FeatureGates = DEFAULT_GATES

    @property
    def old_status(self) -> PodStatus:
        """The previous status: the kubelet's last one, otherwise the API server's."""
        return self.pod.status if self.cached_status is None else self.cached_status

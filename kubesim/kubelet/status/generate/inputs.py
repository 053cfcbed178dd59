"""What a status is computed from, as one value: everything that upstream asks its managers for is data here.

The syncs gather it (runtime cache, status manager, reason cache, probe manager, clock) and hand it to
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
    """`pod` has the resources that are allocated to it; its own status is the one at the API server."""

    pod: Pod
    runtime: RuntimePodStatus
    now: int
    # When the probe manager was created.
    kubelet_start: int
    # The status manager's; None = it knows none.
    cached_status: PodStatus | None = None
    # Why a container could not be started: (reason, message) by container name.
    reasons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Probe results by container id.
    readiness: Mapping[str, ProbeResult] = field(default_factory=dict)
    startup: Mapping[str, ProbeResult] = field(default_factory=dict)
    # Which probes have a worker: (container name, probe).
    probe_workers: frozenset[tuple[str, ProbeType]] = frozenset()
    pod_is_terminal: bool = False
    # The node's addresses; none = the kubelet runs without an API server and does not know them.
    host_ips: tuple[str, ...] = ()
    # The kubelet's first --node-ip is an IPv6 address.
    prefers_ipv6: bool = False
    # The status manager's PodResizePending and PodResizeInProgress.
    resize_conditions: tuple[PodCondition, ...] = ()
    # What the pod's cgroup holds; None = it cannot be read.
    pod_cgroup: ResourceConfig | None = None
    # Whether the runtime handler of the pod supports such mounts.
    supports_recursive_read_only: bool = False
    gates: FeatureGates = DEFAULT_GATES

    @property
    def old_status(self) -> PodStatus:
        """The status to continue from: the kubelet's last one, else the one at the API server."""
        return self.pod.status if self.cached_status is None else self.cached_status

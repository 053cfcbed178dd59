"""Collects the inputs of a pod status, generates it, and applies its side effects.

The shell around the pure `status.generate`: like the kubelet, it then triggers readiness probes and reports an exceeded
active deadline.

Mirrors: pkg/kubelet/kubelet_pods.go generateAPIPodStatus
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.pod import Pod, PodStatus
from kubesim.kubelet.containers.reason_cache import ReasonCache
from kubesim.kubelet.context import KubeletContext
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.status.containers.probe_overlay import readiness_workers_to_trigger
from kubesim.kubelet.status.generate.active_deadline import (
    DEADLINE_EXCEEDED,
    DEADLINE_EXCEEDED_MESSAGE,
    past_active_deadline,
)
from kubesim.kubelet.status.generate.api_pod_status import generate_api_pod_status
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.kubelet.status.manager import StatusManager
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.types import RuntimePodStatus
from kubesim.values import part


@part
class StatusGenerator:
    context: KubeletContext
    statuses: StatusManager
    probes: ProbeManager
    reasons: ReasonCache
    pod_cgroup: Callable[[str], ResourceConfig | None]
    resource_health: Callable[[Pod, PodStatus], PodStatus] | None = None  # adds the health of allocated devices

    def generate(self, pod: Pod, runtime: RuntimePodStatus, *, terminal: bool = False) -> tuple[PodStatus, bool]:
        """The status, and whether it had no side effect: then equal inputs give an equal result."""
        if terminal:
            self.statuses.resize.clear_pending(pod.metadata.uid)
            self.statuses.resize.clear_in_progress(pod.metadata.uid)
        inputs = self._inputs(pod, runtime, terminal=terminal)
        status = generate_api_pod_status(inputs)
        if self.resource_health is not None:
            status = self.resource_health(pod, status)
        is_late = past_active_deadline(pod, inputs.old_status, inputs.now)
        if is_late:
            self.context.events.event(pod, "Normal", DEADLINE_EXCEEDED, DEADLINE_EXCEEDED_MESSAGE)
        unready = readiness_workers_to_trigger(inputs, status)
        for name in unready:
            self.probes.trigger_readiness(pod.metadata.uid, name)
        return status, not is_late and not unready

    def _inputs(self, pod: Pod, runtime: RuntimePodStatus, *, terminal: bool) -> StatusInputs:
        uid = pod.metadata.uid
        return StatusInputs(
            pod=pod,
            runtime=runtime,
            now=self.context.clock.wall(),
            kubelet_start=self.probes.start,
            cached_status=self.statuses.get_pod_status(uid),
            reasons=self.reasons.of(pod),
            readiness=self.probes.readiness.by_id,
            startup=self.probes.startup.by_id,
            probe_workers=self.probes.workers_of(uid),
            pod_is_terminal=terminal,
            host_ips=self.context.settings.host_ips,
            resize_conditions=self.statuses.resize.get(uid),
            pod_cgroup=self.pod_cgroup(uid),
            gates=self.context.gates,
            supports_recursive_read_only=True,
        )

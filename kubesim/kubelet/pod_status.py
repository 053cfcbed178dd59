"""Gathers what a status is computed from, computes it, and does what follows from it.

The shell around the pure `status.generate`: it asks the managers, and afterwards runs readiness probes by hand and
tells about an exceeded deadline, as the kubelet does while it computes.
Mirrors: pkg/kubelet/kubelet_pods.go generateAPIPodStatus
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import LoopClock
from kubesim.features import FeatureGates
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.reason_cache import ReasonCache
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.status.active_deadline import (
    DEADLINE_EXCEEDED,
    DEADLINE_EXCEEDED_MESSAGE,
    past_active_deadline,
)
from kubesim.kubelet.status.generate import generate_api_pod_status
from kubesim.kubelet.status.inputs import StatusInputs
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.status.probe_overlay import readiness_workers_to_trigger
from kubesim.runtime.cgroups import ResourceConfig
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.types import ProbeResult, RuntimePodStatus


class _Computed(NamedTuple):
    """A status, and what it was computed from: the results of probes, which are live, as they were."""

    inputs: StatusInputs
    results: list[tuple[ProbeResult | None, ProbeResult | None]]
    status: PodStatus


def _nothing_changed(before: StatusInputs, now: StatusInputs) -> bool:
    """Time counts only for pods with a deadline. What is large is the same object as long as it is the same."""
    return (
        now.pod is before.pod
        and now.runtime is before.runtime
        and now.cached_status is before.cached_status
        and now.pod.spec.active_deadline_seconds is None
        and now.pod_is_terminal == before.pod_is_terminal
        and now.reasons == before.reasons
        and now.probe_workers == before.probe_workers
        and now.resize_conditions == before.resize_conditions
        and now.pod_cgroup == before.pod_cgroup
    )


class StatusGenerator:
    def __init__(
        self,
        clock: LoopClock,
        settings: KubeletSettings,
        gates: FeatureGates,
        statuses: StatusManager,
        probes: ProbeManager,
        reasons: ReasonCache,
        events: EventRecorder,
        pod_cgroup: Callable[[str], ResourceConfig | None],
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._gates = gates
        self._statuses = statuses
        self._probes = probes
        self._reasons = reasons
        self._events = events
        self._pod_cgroup = pod_cgroup
        self._kubelet_start = clock.now()
        self._latest: dict[str, _Computed] = {}  # by uid, of pods that are not over

    def generate(self, pod: Pod, runtime: RuntimePodStatus, *, terminal: bool = False) -> PodStatus:
        if terminal:
            self._statuses.resize.clear_pending(pod.metadata.uid)
            self._statuses.resize.clear_in_progress(pod.metadata.uid)
        inputs = self._inputs(pod, runtime, terminal=terminal)
        status = self._computed(inputs)
        if past_active_deadline(pod, inputs.old_status, inputs.now):
            self._events.event(pod, "Normal", DEADLINE_EXCEEDED, DEADLINE_EXCEEDED_MESSAGE)
        for name in readiness_workers_to_trigger(inputs, status):
            self._probes.trigger_readiness(pod.metadata.uid, name)
        return status

    def _computed(self, inputs: StatusInputs) -> PodStatus:
        """Many syncs find everything as the last one found it, and so the same status: then it is that very object."""
        uid, ready, started = inputs.pod.metadata.uid, inputs.readiness, inputs.startup
        results = []
        if ready or started:
            results = [(ready.get(record.id), started.get(record.id)) for record in inputs.runtime.containers]
        latest = self._latest.get(uid)
        if latest is not None and latest.results == results and _nothing_changed(latest.inputs, inputs):
            return latest.status
        status = generate_api_pod_status(inputs)
        if inputs.pod_is_terminal:
            self._latest.pop(uid, None)
        else:
            self._latest[uid] = _Computed(inputs, results, status)
        return status

    def would_change_nothing(self, pod: Pod, runtime: RuntimePodStatus) -> bool:
        """Would `generate` find the status that is held already, and have nothing else to do? Only looks."""
        inputs = self._inputs(pod, runtime, terminal=False)
        if inputs.cached_status is None or past_active_deadline(pod, inputs.old_status, inputs.now):
            return False
        status = self._computed(inputs)
        if readiness_workers_to_trigger(inputs, status):
            return False
        return not self._statuses.would_change(pod, status)

    def _inputs(self, pod: Pod, runtime: RuntimePodStatus, *, terminal: bool) -> StatusInputs:
        uid = pod.metadata.uid
        return StatusInputs(
            pod=pod,
            runtime=runtime,
            now=self._clock.now(),
            kubelet_start=self._kubelet_start,
            cached_status=self._statuses.get_pod_status(uid),
            reasons=self._reasons.of(pod),
            readiness=self._probes.readiness.by_id,
            startup=self._probes.startup.by_id,
            probe_workers=self._probes.workers_of(uid),
            pod_is_terminal=terminal,
            host_ips=self._settings.host_ips,
            resize_conditions=self._statuses.resize.get(uid),
            pod_cgroup=self._pod_cgroup(uid),
            gates=self._gates,
        )

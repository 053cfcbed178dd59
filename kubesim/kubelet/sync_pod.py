"""What a pod worker calls: one sync of a pod that should run, that must end, or that has ended.

This is where desired and observed state meet: compute the status, tell the status manager, let the runtime manager act.
Mirrors: pkg/kubelet/kubelet.go SyncPod, SyncTerminatingPod, SyncTerminatingRuntimePod, SyncTerminatedPod
"""

from __future__ import annotations

from kubesim.api.gotext import listed
from kubesim.api.phases import TERMINAL_PHASES
from kubesim.api.pod import Pod, PodCondition, PodStatus
from kubesim.clock import LoopClock, go
from kubesim.errors import BackoffError, RuntimeCallError, SyncError
from kubesim.features import FeatureGates
from kubesim.frozen import replace
from kubesim.kubelet.environment import Find
from kubesim.kubelet.mirror import MirrorClient
from kubesim.kubelet.pleg import GenericPleg
from kubesim.kubelet.pod_status import StatusGenerator
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.pull_secrets import missing_pull_secrets, pull_secrets_for_pod
from kubesim.kubelet.reason_cache import ReasonCache
from kubesim.kubelet.resize_events import resize_event_message
from kubesim.kubelet.runtime_state import RuntimeState
from kubesim.kubelet.status.conditions import with_condition
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.volumes.manager import VolumeManager, VolumesNotReady
from kubesim.podworkers.syncer import NOTHING_MORE, SyncContext, SyncOutcome
from kubesim.podworkers.updates import PodStatusFn, SyncPodType, UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.manager import ProbeResults, RuntimeManager
from kubesim.runtime.pod_listing import api_pod, running_pod
from kubesim.runtime.results import PodSyncResult
from kubesim.runtime.types import RuntimePod, RuntimePodStatus

READY_TO_START = "PodReadyToStartContainers"
ALL_RESTARTING = "AllContainersRestarting"
NETWORK_NOT_READY = "network is not ready"
RESIZE = "InPlacePodVerticalScaling"
ERROR = "Error"


class PodSync:
    """Implements `podworkers.PodSyncer` and, for the sandbox-ready callback, a part of `runtime.RuntimeHelper`."""

    workers: PodWorkers  # set by whoever makes both: each needs the other

    def __init__(
        self,
        clock: LoopClock,
        gates: FeatureGates,
        runtime: RuntimeManager,
        runtime_state: RuntimeState,
        statuses: StatusManager,
        generator: StatusGenerator,
        probes: ProbeManager,
        reasons: ReasonCache,
        mirrors: MirrorClient,
        volumes: VolumeManager,
        pleg: GenericPleg,
        events: EventRecorder,
        find: Find,
    ) -> None:
        self._clock = clock
        self._gates = gates
        self._runtime = runtime
        self._runtime_state = runtime_state
        self._statuses = statuses
        self._generator = generator
        self._probes = probes
        self._reasons = reasons
        self._mirrors = mirrors
        self._volumes = volumes
        self._pleg = pleg
        self._events = events
        self._find = find
        self._probe_results = ProbeResults(probes.liveness.by_id, probes.startup.by_id)  # live

    # -- a pod that should run ----------------------------------------------------------------------------------

    async def sync_pod(
        self, context: SyncContext, update_type: SyncPodType, pod: Pod, mirror_pod: Pod | None, status: RuntimePodStatus
    ) -> SyncOutcome:
        uid = pod.metadata.uid
        if self._gates.enabled(RESIZE):
            self._follow_resize(pod, status)
        api_status = self._generator.generate(pod, status)
        ips = _ips(api_status)
        status = status if ips == status.ips else replace(status, ips=ips)
        self._statuses.set_pod_status(pod, api_status)
        if api_status.phase in TERMINAL_PHASES:
            return SyncOutcome(terminal=True)
        problem = self._runtime_state.network_problem()
        if problem and not pod.spec.host_network:
            self._events.event(pod, "Warning", "NetworkNotReady", f"{NETWORK_NOT_READY}: {problem}")
            raise SyncError(f"{NETWORK_NOT_READY}: {problem}")
        if not self.workers.states.is_pod_termination_requested(uid):
            self._volumes.objects.register_pod(pod)
            self._runtime.ensure_pod_cgroup(pod)
        await self._mirrors.reconcile(pod, mirror_pod)
        if pod.spec.volumes:
            await self._wait_for_volumes(context, pod)
        pull_secrets = pull_secrets_for_pod(pod, self._find, self._events)
        self._probes.add_pod(pod, context)
        restarting = _restart_all_containers(api_status) and self._gates.enabled("RestartAllContainersOnContainerExits")
        result = await self._runtime.sync_pod(
            pod, status, self._probe_results, restart_all_containers=restarting, pull_secrets=pull_secrets
        )
        self._reasons.update(uid, result)
        error = result.error()
        if restarting and not error and any(r.action == "RemoveContainer" for r in result.results):
            # All records are gone, so the next sync ends the restart and starts the containers: ask for it now.
            self.workers.update_pod(UpdatePodOptions("update", pod, mirror_pod))
        if error:
            if self._gates.enabled(RESIZE):
                self._tell_resize_errors(pod, result)
            return SyncOutcome(error=_as_error(result, error))
        if not result.results:
            return NOTHING_MORE
        return SyncOutcome(post_sync=lambda: self._pleg.request_relist(uid))

    async def _wait_for_volumes(self, context: SyncContext, pod: Pod) -> None:
        """What is wrong with a single volume its own Events tell; here only what keeps volumes from being tried."""
        try:
            await self._volumes.wait_for_attach_and_mount(context, pod)
        except VolumesNotReady as error:
            self._events.event(pod, "Warning", "FailedMount", f"Unable to attach or mount volumes: {error}")
            raise

    def _follow_resize(self, pod: Pod, status: RuntimePodStatus) -> None:
        """Is a resize under way, or has one just come to its end?"""
        uid, conditions = pod.metadata.uid, self._statuses.resize
        if self._runtime.is_pod_resize_in_progress(pod, status):
            conditions.set_in_progress(uid, "", "", pod.metadata.generation, self._clock.now())
            return
        generation, cleared = conditions.clear_in_progress(uid)
        if cleared:
            text = resize_event_message("Pod resize completed", pod, generation)
            self._events.event(pod, "Normal", "ResizeCompleted", text)

    def _tell_resize_errors(self, pod: Pod, result: PodSyncResult) -> None:
        for one in result.results:
            if one.action == "ResizePodInPlace" and one.error:
                generation, changed = self._statuses.resize.set_in_progress(
                    pod.metadata.uid, ERROR, one.message, pod.metadata.generation, self._clock.now()
                )
                if changed:
                    text = resize_event_message("Pod resize error", pod, generation, one.message)
                    self._events.event(pod, "Warning", "ResizeError", text)

    def would_change_nothing(self, pod: Pod, mirror_pod: Pod | None, status: RuntimePodStatus) -> bool:
        """Would `sync_pod` now find everything as it should be? Only looks; true for a pod that rests."""
        if pod.metadata.deletion_timestamp is not None or (self._runtime_state.network_problem()):
            return False
        if self._statuses.resize.is_in_progress(pod.metadata.uid):
            return False
        if self._mirrors.needs_work(pod, mirror_pod) or not self._probes.has_all_workers(pod):
            return False
        if pod.spec.volumes and not self._volumes.is_up_to_date(pod.metadata.uid):
            return False
        if missing_pull_secrets(pod, self._find):
            return False  # each sync tells of it
        return self._generator.would_change_nothing(pod, status) and self._runtime.would_do_nothing(
            pod, status, self._probe_results
        )

    def on_pod_sandbox_ready(self, pod: Pod) -> None:
        """The sandbox stands and images come next: say so now, but beside the sync, not in it."""
        if self._gates.enabled("PodReadyToStartContainersCondition"):
            go(self._mark_ready_to_start(pod), "sandbox ready")

    async def _mark_ready_to_start(self, pod: Pod) -> None:
        status = self._statuses.get_pod_status(pod.metadata.uid) or pod.status
        ready = PodCondition(type=READY_TO_START, status="True", observed_generation=pod.metadata.generation)
        self._statuses.set_pod_status(pod, status.changed(conditions=with_condition(status.conditions, ready)))

    # -- a pod that must end ------------------------------------------------------------------------------------

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        api_status = self._generator.generate(pod, status)
        if status_fn is not None:
            api_status = status_fn(api_status)
        self._statuses.set_pod_status(pod, api_status)
        self._probes.stop_liveness_and_startup(pod)
        killed = await self._runtime.kill_pod(pod, running_pod(status), grace_period)
        self._check_killed(pod, killed, "error killing terminating pod: ")
        self._probes.remove_pod(pod)
        stopped = await self._read_stopped(pod, status)
        running = [record.id for record in stopped.containers if record.state == "running"]
        if running:
            raise SyncError(f"detected running containers after a successful KillPod, CRI violation: {listed(running)}")
        self._statuses.set_pod_status(pod, self._generator.generate(pod, stopped, terminal=True))

    def _check_killed(self, pod: Pod, killed: PodSyncResult, prefix: str) -> None:
        error = killed.error()
        if error:
            self._events.event(pod, "Warning", "FailedKillPod", f"error killing pod: {error}")
            raise SyncError(prefix + error)

    async def _read_stopped(self, pod: Pod, before: RuntimePodStatus) -> RuntimePodStatus:
        """The final states, straight from the runtime; the addresses are gone there, so the old ones are kept."""
        metadata = pod.metadata
        what = "get pod"
        try:
            found = await self._runtime.get_pod(metadata.uid)
            found = found or RuntimePod(metadata.uid, metadata.name, metadata.namespace)
            what = "read pod status"
            status = await self._runtime.get_pod_status(found)
        except RuntimeCallError as error:
            raise SyncError(f"unable to {what} prior to final pod termination: {error}") from error
        return replace(status, ips=before.ips)

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        """Only the runtime knows this pod: stop it quickly; there is nobody to tell a status."""
        pod = api_pod(running_pod)
        self._check_killed(pod, await self._runtime.kill_pod(pod, running_pod, 1), "")

    # -- a pod that has ended -----------------------------------------------------------------------------------

    async def sync_terminated_pod(self, context: SyncContext, pod: Pod, status: RuntimePodStatus) -> None:
        self._statuses.set_pod_status(pod, self._generator.generate(pod, status, terminal=True))
        await self._volumes.wait_for_unmount(context, pod)
        await self._volumes.wait_for_clean_up(context, pod)
        self._runtime.destroy_pod_cgroup(pod.metadata.uid)
        self._statuses.terminate_pod(pod)


def _ips(status: PodStatus) -> tuple[str, ...]:
    ips = tuple([entry.ip for entry in status.pod_ips])
    return ips or ((status.pod_ip,) if status.pod_ip else ())


def _restart_all_containers(status: PodStatus) -> bool:
    for condition in status.conditions:
        if condition.type == ALL_RESTARTING:
            return condition.status == "True"
    return False


def _as_error(result: PodSyncResult, text: str) -> SyncError:
    expires_at = result.backoff_expires_at()
    return SyncError(text) if expires_at is None else BackoffError(text, expires_at)

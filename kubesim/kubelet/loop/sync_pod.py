"""The sync functions of a pod worker: SyncPod, SyncTerminatingPod and SyncTerminatedPod.

Each compares desired and observed state: it computes the status, passes it to the status manager, and calls the runtime
manager.

Mirrors: pkg/kubelet/kubelet.go SyncPod, SyncTerminatingPod, SyncTerminatingRuntimePod, SyncTerminatedPod
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

from kubesim.api.pod import Pod, PodCondition, PodStatus
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import with_condition
from kubesim.clock import go
from kubesim.errors import BackoffError, RuntimeCallError, SyncError
from kubesim.features.rules import Rules
from kubesim.golang.text import listed, quoted
from kubesim.kubelet.admission.apparmor import AppArmorAdmission
from kubesim.kubelet.admission.soft import blocked_status
from kubesim.kubelet.cm.container_manager import ContainerManager
from kubesim.kubelet.containers.environment import Find
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.kubelet.images.pull_secrets import pull_secrets_for_pod, report_missing_pull_secrets
from kubesim.kubelet.loop.mirror import MirrorClient
from kubesim.kubelet.loop.runtime_state import RuntimeState
from kubesim.kubelet.pleg.generic import GenericPleg
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.resize.resize_events import resize_event_message
from kubesim.kubelet.sandbox.userns import UsernsManager
from kubesim.kubelet.status.pod_status import StatusGenerator
from kubesim.kubelet.volumes.attach_limits import REASON as ATTACH_LIMIT
from kubesim.kubelet.volumes.attach_limits import VolumeAttachLimitExceeded
from kubesim.kubelet.volumes.manager import VolumeManager, VolumesNotReady
from kubesim.podworkers.syncer import SyncContext, SyncOutcome
from kubesim.podworkers.updates import PodStatusFn, SyncPodType
from kubesim.runtime.allocation.cgroups import CgroupName, pod_cgroup_name
from kubesim.runtime.helper import DynamicResourcesError
from kubesim.runtime.images.image_manager import ERR_IMAGE_PULL
from kubesim.runtime.kuberuntime.act.manager import ProbeResults, RuntimeManager
from kubesim.runtime.kuberuntime.act.pod_listing import api_pod, running_pod
from kubesim.runtime.kuberuntime.decide.restart_policy import runs_once
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.kuberuntime.results import PodSyncResult
from kubesim.runtime.kuberuntime.steps import take_step
from kubesim.runtime.pod_directories import ROOT, PodDirectories
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from kubesim.values import part, replace

READY_TO_START = "PodReadyToStartContainers"
ALL_RESTARTING = "AllContainersRestarting"
RESIZE = "InPlacePodVerticalScaling"
ERROR = "Error"

ResizeAtSync = Callable[[Pod], Awaitable[tuple[Pod, Collection[str]]]]


@part
class PodSync:
    """Pod syncer; implements `podworkers.PodSyncer` and the sandbox-ready callback of `runtime.RuntimeHelper`."""

    context: KubeletContext
    views: PodViews
    runtime: RuntimeManager
    runtime_state: RuntimeState
    generator: StatusGenerator
    container_manager: ContainerManager
    mirrors: MirrorClient
    volumes: VolumeManager
    pleg: GenericPleg
    find: Find
    directories: PodDirectories
    userns: UsernsManager
    app_armor: AppArmorAdmission
    resize: ResizeAtSync | None = None  # set if syncs decide about resizes

    @property
    def probes(self) -> ProbeManager:
        return self.generator.probes

    # -- SyncPod ------------------------------------------------------------------------------------------------

    async def sync_pod(
        self, context: SyncContext, update_type: SyncPodType, pod: Pod, mirror_pod: Pod | None, status: RuntimePodStatus
    ) -> SyncOutcome:
        uid, gates = pod.metadata.uid, self.context.gates
        if gates.enabled(RESIZE):
            self._follow_resize(pod, status)
        api_status, is_final = self.generator.generate(pod, status)
        ips = _ips(api_status)
        status = status if ips == status.ips else replace(status, ips=ips)
        is_over = api_status.phase in TERMINAL_PHASES
        blocked = ("", "") if gates.rules.app_armor_rejects_pod or is_over else self.app_armor.admit(pod)
        if blocked[0]:
            api_status = blocked_status(api_status, *blocked)
        self.views.statuses.set_pod_status(pod, api_status)
        if is_over:
            return SyncOutcome(terminal=True)
        if blocked[0]:
            killed = await self.runtime.kill_pod(pod, running_pod(status), None)
            self._check_killed(pod, killed, "error killing pod: ")
            raise SyncError(f"pod cannot be run: {blocked[1]}")
        problem = self.runtime_state.network_problem()
        if problem and not pod.spec.host_network:
            text = gates.rules.network_not_ready.format(problem=problem)
            if gates.rules.emits_network_not_ready:
                self.context.events.event(pod, "Warning", "NetworkNotReady", text)
            raise SyncError(text)
        if not self.views.states.is_pod_termination_requested(uid):
            await self._register_and_make_cgroup(pod, api_status, status)
        is_mirrored = not await self.mirrors.reconcile(pod, mirror_pod)
        self._make_directories(pod)
        if pod.spec.volumes and not await self._wait_for_volumes(context, pod):
            return SyncOutcome(terminal=True)
        pull_secrets, missing = pull_secrets_for_pod(pod, self.find)
        every_sync = gates.rules.reports_missing_pull_secrets_every_sync
        if missing and every_sync:
            report_missing_pull_secrets(pod, missing, self.context.events)
        self.probes.add_pod(pod, context)
        pod, refused = (pod, ()) if self.resize is None else await self.resize(pod)
        restarting = gates.enabled("RestartAllContainersOnContainerExits") and _restart_all_containers(api_status)
        probed = ProbeResults(self.probes.liveness.by_id, self.probes.startup.by_id)
        result = await self.runtime.sync_pod(
            pod, status, probed, restart_all_containers=restarting, pull_secrets=pull_secrets, refused=refused
        )
        self.generator.reasons.update(uid, result)
        if missing and not every_sync and any(one.error == ERR_IMAGE_PULL for one in result.results):
            report_missing_pull_secrets(pod, missing, self.context.events)
        error = result.error()
        # Once all records are removed, the next sync finishes the restart and starts the containers.
        again = restarting and not error and any(r.action == "RemoveContainer" for r in result.results)
        if error:
            if gates.enabled(RESIZE) and self.resize is None:
                self._report_resize_errors(pod, result)
            return SyncOutcome(error=_as_error(result, error, gates.rules))
        if self.resize is not None and self.views.statuses.resize.is_in_progress(uid):
            await self.pleg.update_cache(running_pod(status))
        if not result.results:
            in_order = is_final and is_mirrored and not missing and not restarting and not result.has_more_to_do
            return SyncOutcome(settled=in_order and self._is_settled(uid))
        return SyncOutcome(again=again, post_sync=lambda: self.pleg.request_relist(uid))

    async def _register_and_make_cgroup(self, pod: Pod, api_status: PodStatus, status: RuntimePodStatus) -> None:
        """Create the pod's cgroup. Containers outside it (the cgroup root changed) are killed first and restart inside
        it. A run-once pod then needs no cgroup.
        """
        self.volumes.objects.register_pod(pod)
        if self.runtime.pod_cgroup(pod.metadata.uid) is not None:
            return
        if any(container.state.running is not None for container in api_status.container_statuses):
            killed = await self.runtime.kill_pod(pod, running_pod(status), None)
            if not killed.error() and runs_once(pod.spec, self.context.gates):
                return
        try:
            self.runtime.ensure_pod_cgroup(pod)
        except RuntimeCallError as error:
            problem = f"failed to create container for [{' '.join(self._cgroup_name(pod))}] : {error}"
            text = f"unable to ensure pod container exists: {problem}"
            self.context.events.event(pod, "Warning", "FailedCreatePodContainer", text)
            text = f"failed to ensure that the pod: {pod.metadata.uid} cgroups exist and are correctly applied"
            raise SyncError(f"{text}: {problem}") from error
        if self.context.recorder.details:
            step = f"make the control group /{'/'.join(self._cgroup_name(pod))}"
            take_step(self.context.recorder, pod, "SyncPod", step)

    def _cgroup_name(self, pod: Pod) -> CgroupName:
        return pod_cgroup_name(pod, self.context.settings.sandbox.cgroups.root, self.context.gates)

    def _make_directories(self, pod: Pod) -> None:
        if self.directories.has(pod.metadata.uid):
            return
        problem = self.directories.make(pod.metadata.uid)
        if problem:
            text = f"error making pod data directories: {problem}"
            self.context.events.event(pod, "Warning", "Failed", text)
            raise SyncError(problem)
        if self.context.recorder.details:
            take_step(self.context.recorder, pod, "SyncPod", f"make the directories {ROOT}/{pod.metadata.uid}")

    def _is_settled(self, uid: str) -> bool:
        """Whether nothing about the pod is in progress."""
        resize = self.views.statuses.resize
        waits = resize.is_in_progress(uid) or (self.resize is not None and bool(resize.get(uid)))
        return not waits and self.volumes.is_up_to_date(uid)

    async def _wait_for_volumes(self, context: SyncContext, pod: Pod) -> bool:
        """Wait for the volumes; false if the pod was rejected. The error names the unmounted volumes; Events name each
        volume's problem.
        """
        try:
            await self.volumes.wait_for_attach_and_mount(context, pod)
            return True
        except VolumeAttachLimitExceeded as error:
            self.views.reject_pod(pod, ATTACH_LIMIT, str(error), self.context.events)
            return False
        except VolumesNotReady as error:
            self.context.events.event(pod, "Warning", "FailedMount", f"Unable to attach or mount volumes: {error}")
            raise
        except SyncError:
            if not self.context.gates.rules.emits_volume_timeouts:
                raise
        problem = self.volumes.wait_timed_out(pod)
        text = f"Unable to mount volumes for pod {quoted(format_pod(pod))}: {problem}"
        self.context.events.event(pod, "Warning", "FailedMount", text)
        raise SyncError(problem)

    def _follow_resize(self, pod: Pod, status: RuntimePodStatus) -> None:
        """Whether a resize is in progress or has just finished."""
        uid, conditions = pod.metadata.uid, self.views.statuses.resize
        if self.runtime.is_pod_resize_in_progress(pod, status):
            conditions.set_in_progress(uid, "", "", pod.metadata.generation, self.context.clock.wall())
            return
        generation, cleared = conditions.clear_in_progress(uid)
        if cleared and self.resize is None:
            text = resize_event_message("Pod resize completed", pod, generation)
            self.context.events.event(pod, "Normal", "ResizeCompleted", text)

    def _report_resize_errors(self, pod: Pod, result: PodSyncResult) -> None:
        for one in result.results:
            if one.action == "ResizePodInPlace" and one.error:
                generation, changed = self.views.statuses.resize.set_in_progress(
                    pod.metadata.uid, ERROR, one.message, pod.metadata.generation, self.context.clock.wall()
                )
                if changed:
                    text = resize_event_message("Pod resize error", pod, generation, one.message)
                    self.context.events.event(pod, "Warning", "ResizeError", text)

    def on_pod_sandbox_ready(self, pod: Pod) -> None:
        """Report that the sandbox is ready before images are pulled. Runs in its own task, next to the sync."""
        gates = self.context.gates
        if gates.rules.reports_sandbox_ready_at_once and gates.enabled("PodReadyToStartContainersCondition"):
            go(self._mark_ready_to_start(pod), "sandbox ready")

    async def _mark_ready_to_start(self, pod: Pod) -> None:
        status = self.views.statuses.get_pod_status(pod.metadata.uid) or pod.status
        ready = PodCondition(type=READY_TO_START, status="True", observed_generation=pod.metadata.generation)
        self.views.statuses.set_pod_status(pod, status.changed(conditions=with_condition(status.conditions, ready)))

    # -- SyncTerminatingPod -------------------------------------------------------------------------------------

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        api_status, _ = self.generator.generate(pod, status)
        if status_fn is not None:
            api_status = status_fn(api_status)
        self.views.statuses.set_pod_status(pod, api_status)
        self.probes.stop_liveness_and_startup(pod)
        killed = await self.runtime.kill_pod(pod, running_pod(status), grace_period)
        self._check_killed(pod, killed, "error killing terminating pod: ")
        self.probes.remove_pod(pod)
        stopped = await self._read_stopped(pod, status)
        running = [record.id for record in stopped.containers if record.state == "running"]
        if running:
            raise SyncError(f"detected running containers after a successful KillPod, CRI violation: {listed(running)}")
        try:  # after all containers have stopped, before the status reports it
            await self.container_manager.unprepare_dynamic_resources(pod)
        except DynamicResourcesError as error:
            raise SyncError(str(error)) from error
        self.views.statuses.set_pod_status(pod, self.generator.generate(pod, stopped, terminal=True)[0])

    def _check_killed(self, pod: Pod, killed: PodSyncResult, prefix: str) -> None:
        error = killed.error()
        if error:
            self.context.events.event(pod, "Warning", "FailedKillPod", f"error killing pod: {error}")
            raise SyncError(prefix + error)

    async def _read_stopped(self, pod: Pod, before: RuntimePodStatus) -> RuntimePodStatus:
        """The final container states from the runtime, with the pod's previous addresses: the runtime has none."""
        metadata = pod.metadata
        what = "get pod"
        try:
            found = await self.runtime.get_pod(metadata.uid)
            found = found or RuntimePod(metadata.uid, metadata.name, metadata.namespace)
            what = "read pod status"
            status = await self.runtime.get_pod_status(found)
        except RuntimeCallError as error:
            raise SyncError(f"unable to {what} prior to final pod termination: {error}") from error
        return replace(status, ips=before.ips)

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        """Kill a pod that only the runtime knows; there is no status to report."""
        pod = api_pod(running_pod)
        self._check_killed(pod, await self.runtime.kill_pod(pod, running_pod, 1), "")

    # -- SyncTerminatedPod --------------------------------------------------------------------------------------

    async def sync_terminated_pod(self, context: SyncContext, pod: Pod, status: RuntimePodStatus) -> None:
        self.views.statuses.set_pod_status(pod, self.generator.generate(pod, status, terminal=True)[0])
        await self.volumes.wait_for_unmount(context, pod)
        await self.volumes.wait_for_clean_up(context, pod)
        self.runtime.destroy_pod_cgroup(pod.metadata.uid)
        self.userns.release(pod.metadata.uid)
        self.directories.remove(pod.metadata.uid)
        self.views.statuses.terminate_pod(pod)


def _ips(status: PodStatus) -> tuple[str, ...]:
    ips = tuple([entry.ip for entry in status.pod_ips])
    return ips or ((status.pod_ip,) if status.pod_ip else ())


def _restart_all_containers(status: PodStatus) -> bool:
    for condition in status.conditions:
        if condition.type == ALL_RESTARTING:
            return condition.status == "True"
    return False


def _as_error(result: PodSyncResult, text: str, rules: Rules) -> SyncError:
    expires_at = result.backoff_expires_at() if rules.retries_at_back_off_expiry else None
    return SyncError(text) if expires_at is None else BackoffError(text, expires_at)

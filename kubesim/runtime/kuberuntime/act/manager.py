"""The runtime manager: executes the actions of compute_pod_actions step by step, and reads pod statuses.

It is the layer between `Kubelet.sync_pod` and the CRI-shaped runtime.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod, KillPod, GetPods, GetPodStatus
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod, ResourceRequirements
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.runtime.allocation.cgroups import ResourceConfig, resource_config_for_pod
from kubesim.runtime.disk import KubeletDisk
from kubesim.runtime.helper import DynamicResourcesError, EventRecorder, RuntimeHelper, SandboxConfigError
from kubesim.runtime.images.image_manager import ImageManager
from kubesim.runtime.kuberuntime.act.container_kill import ContainerKiller
from kubesim.runtime.kuberuntime.act.container_start import ContainerStarter, ContainerStartFailed, StartTarget
from kubesim.runtime.kuberuntime.act.hooks import HookRunner, HttpGet
from kubesim.runtime.kuberuntime.act.image_volumes import (
    NO_PULLS,
    ImageVolumePulls,
    check_image_volumes,
    has_image_volumes,
    pull_image_volumes,
)
from kubesim.runtime.kuberuntime.act.listed_pods import ListedPods
from kubesim.runtime.kuberuntime.act.pod_listing import (
    event_pod_status,
    running_pod,
    runtime_pod_status,
    sandbox_ips,
)
from kubesim.runtime.kuberuntime.act.pod_resize import PodResizer, is_pod_resize_in_progress
from kubesim.runtime.kuberuntime.decide.actions import PodActions, compute_pod_actions
from kubesim.runtime.kuberuntime.decide.backoff import Backoff, do_back_off
from kubesim.runtime.kuberuntime.decide.init_actions import failed_init_record, init_records, superseded_init_records
from kubesim.runtime.kuberuntime.labels import restore_specs
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.kuberuntime.results import (
    KILL_CONTAINER_ERROR,
    KILL_POD_SANDBOX_ERROR,
    REMOVE_CONTAINER_ERROR,
    RUN_INIT_CONTAINER_ERROR,
    PodSyncResult,
)
from kubesim.runtime.kuberuntime.sandbox_config import check_pod_sandbox_config, generate_pod_sandbox_config
from kubesim.runtime.kuberuntime.sandbox_failure import sandbox_failure
from kubesim.runtime.kuberuntime.steps import take_sandbox_steps
from kubesim.runtime.protocol import ContainerEventResponse, ContainerInfo, NotFound, Runtime, SandboxConfig
from kubesim.runtime.types import ContainerRecord, ProbeResult, RuntimePod, RuntimePodStatus, bare_id
from kubesim.trace import Recorder
from kubesim.trace.records import Actions
from kubesim.values import replace, value_object

_NOTHING_ACTUATED: Mapping[str, ResourceRequirements] = {}


@value_object
class ProbeResults:
    """Current probe results by container id."""

    liveness: Mapping[str, ProbeResult]
    startup: Mapping[str, ProbeResult]


@value_object
class StartedSandbox:
    """The sandbox for containers to start; `config` is None if it must be created again."""

    id: str
    ips: tuple[str, ...]
    config: SandboxConfig | None = None


class RuntimeManager:
    """The runtime manager of one node."""

    def __init__(
        self,
        runtime: Runtime,
        clock: LoopClock,
        recorder: Recorder,
        events: EventRecorder,
        helper: RuntimeHelper,
        images: ImageManager,
        backoff: Backoff,
        http_get: HttpGet,
        gates: FeatureGates = DEFAULT_GATES,
        disk: KubeletDisk | None = None,
    ) -> None:
        disk = disk or KubeletDisk()
        self.runtime = runtime
        self.logs = disk.logs
        self.actuated = disk.actuated
        self.backoff = backoff
        self._clock = clock
        self._recorder = recorder
        self._events = events
        self._helper = helper
        self._gates = gates
        self._images = images
        hooks = HookRunner(runtime, clock, http_get)
        self._killer = ContainerKiller(runtime, clock, events, hooks, gates.rules)
        self._starter = ContainerStarter(
            runtime, events, helper, images, hooks, self._killer, self.logs, self.actuated, recorder, gates
        )
        self._cgroups = disk.cgroups
        self._resizer = PodResizer(runtime, helper, self.actuated, disk.cgroups, gates)
        self.counts: Counter[tuple[str, ...]] = Counter()  # started sandboxes and containers, for metrics
        self._listed = ListedPods(runtime, runtime.name)

    # -- SyncPod ------------------------------------------------------------------------------------------------

    async def sync_pod(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        probes: ProbeResults,
        *,
        restart_all_containers: bool = False,
        pull_secrets: tuple[ApiObject, ...] = (),
        refused: Collection[str] = (),
    ) -> PodSyncResult:
        """Bring the pod's sandbox and containers to the state of its spec, in the nine steps of the kubelet:

        1. Compute sandbox and container changes (`compute_pod_actions`).
        2. Kill the pod if its sandbox has changed.
        3. Kill containers that should not run.
        4. Create a sandbox if necessary.
        5. Report the ready sandbox, so that the kubelet writes the pod's status before images are pulled.
        6. Resize the pod and its running containers; a later sync completes a partial resize.
        7. Start ephemeral containers.
        8. Start init containers.
        9. Start regular containers.

        A failure in steps 2 to 4 ends the sync, and so does a failed init container; the result holds all errors.
        The `refused` containers are not resized while they run.
        """
        result = PodSyncResult()
        actions = self._decide(pod, status, probes, restart_all_containers, refused)
        if self._recorder.on:
            self._record(pod, actions)
        if actions.create_sandbox and actions.sandbox_id and self._gates.rules.sandbox_order != "dockertools":
            message = "Pod sandbox changed, it will be killed and re-created."
            self._events.event(pod, "Normal", "SandboxChanged", message)
        if actions.stops_something() and not await self._kill_step(pod, status, actions, result):
            return result
        superseded = superseded_init_records(pod, status)
        if superseded:
            result.has_more_to_do = True
            await self._remove_records(superseded)
        sandbox: StartedSandbox | None = None
        if actions.starts_something():
            sandbox = await self._sandbox_step(pod, status, actions, result)
            if sandbox is None:
                return result
        if actions.resizes_something() and self._gates.enabled("InPlacePodVerticalScaling"):
            result.results.append(await self._resizer.resize(pod, actions))
        config = None if sandbox is None else sandbox.config
        every_time = self._gates.rules.pulls_image_volumes_every_sync
        if config is None and (sandbox is not None or every_time):
            config = self._config_for_containers(pod, actions, result)
            if result.sync_error:
                return result
        pulls = NO_PULLS
        if (sandbox is not None or every_time) and has_image_volumes(pod):
            result.has_more_to_do = True
            pulls = await pull_image_volumes(pod, self._images, pull_secrets, config)
        if sandbox is not None and config is not None:
            backs_off = self._gates.rules.backs_off_in_new_sandbox or not actions.create_sandbox
            target = StartTarget(sandbox.id, config, sandbox.ips, pull_secrets, backs_off)
            await self._start_steps(pod, status, actions, target, pulls, result)
        return result

    async def _start_steps(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        target: StartTarget,
        pulls: ImageVolumePulls,
        result: PodSyncResult,
    ) -> None:
        """Steps 7 to 9: start ephemeral, init and regular containers. A plain init container that fails ends them."""
        failed = failed_init_record(pod, status) if self._gates.rules.reports_failed_init_containers else None
        if failed is not None:
            problem = f"init container {quoted(failed.name)} exited with {failed.exit_code}"
            result.add("InitContainer", failed.name).fail(RUN_INIT_CONTAINER_ERROR, problem)
        initial = actions.init_containers_to_start
        for container in (*actions.ephemeral_containers_to_start, *initial, *actions.containers_to_start):
            started = await self._start(pod, status, container, target, pulls, result)
            if not started and container in initial and not is_restartable_init_container(container):
                return

    def ensure_pod_cgroup(self, pod: Pod) -> None:
        """Create the pod's cgroup, if it does not exist. Raises RuntimeCallError."""
        uid = pod.metadata.uid
        if self._cgroups.get(uid) is None:
            has_quota = self._helper.internal_lifecycle.has_cpu_quota(pod)
            config = resource_config_for_pod(pod, enforce_cpu_limits=has_quota, gates=self._gates)
            self._cgroups.create(uid, config)
            self.actuated.pod_cgroup_made(pod, self._gates)

    def pod_cgroup(self, uid: str) -> ResourceConfig | None:
        return self._cgroups.get(uid)

    def pods_with_cgroup(self) -> tuple[str, ...]:
        return self._cgroups.uids()

    def destroy_pod_cgroup(self, uid: str) -> None:
        """Remove the cgroup of a terminated pod."""
        self._cgroups.destroy(uid)

    def is_pod_resize_in_progress(self, pod: Pod, status: RuntimePodStatus) -> bool:
        return is_pod_resize_in_progress(pod, status, self.actuated, self._gates)

    def _decide(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        probes: ProbeResults,
        restart_all_containers: bool,
        refused: Collection[str],
    ) -> PodActions:
        uid = pod.metadata.uid
        return compute_pod_actions(
            pod,
            status,
            liveness=probes.liveness,
            startup=probes.startup,
            actuated=self.actuated.containers(uid),
            actuated_pod=self.actuated.pod(uid),
            restart_all_containers=restart_all_containers,
            refused=refused,
            gates=self._gates,
        )

    def _record(self, pod: Pod, actions: PodActions) -> None:
        metadata = pod.metadata
        self._recorder.record(
            Actions(
                pod=f"{metadata.namespace}/{metadata.name}",
                uid=metadata.uid,
                why="; ".join(actions.why),
                decision=_summary(actions),
            )
        )

    async def _kill_step(self, pod: Pod, status: RuntimePodStatus, actions: PodActions, result: PodSyncResult) -> bool:
        """Steps 2 and 3: kill the pod or single containers. False: a kill failed and the sync ends."""
        if actions.kill_pod:
            killed = await self._kill_all(pod, running_pod(status), None)
            result.results += killed.results
            if killed.error():
                return False
            if actions.create_sandbox and pod.spec.init_containers and self._gates.rules.repeats_initialization:
                await self._remove_records(init_records(pod, status))
            return True
        for kill in actions.containers_to_kill.values():
            outcome = result.add("KillContainer", kill.name)
            try:
                await self._killer.kill(pod, kill.id, kill.name, message=kill.message, reason=kill.reason)
            except RuntimeCallError as error:
                outcome.fail(KILL_CONTAINER_ERROR, str(error))
                return False
        return await self._reset_containers(pod, actions, result)

    async def _reset_containers(self, pod: Pod, actions: PodActions, result: PodSyncResult) -> bool:
        """Restart all containers: kill without grace and remove the records; logs stay."""
        for reset in actions.containers_to_reset:
            name = reset.container.name
            outcome = result.add("RemoveContainer", name)
            error_kind = KILL_CONTAINER_ERROR
            try:
                if reset.kill:
                    await self._killer.kill(
                        pod, reset.id, name, message="killing", reason="RestartAllContainers", grace_override_s=0
                    )
                error_kind = REMOVE_CONTAINER_ERROR
                await self.runtime.remove_container(bare_id(reset.id))
            except RuntimeCallError as error:
                outcome.fail(error_kind, str(error))
                return False
        return True

    async def _remove_records(self, records: Sequence[ContainerRecord]) -> None:
        for record in records:
            try:
                await self.remove_container(record.id)
            except RuntimeCallError:
                continue  # the next sync or the garbage collector retries

    async def _sandbox_step(
        self, pod: Pod, status: RuntimePodStatus, actions: PodActions, result: PodSyncResult
    ) -> StartedSandbox | None:
        """Steps 4 and 5: create a new sandbox if needed, and report it as ready to the kubelet."""
        if not actions.create_sandbox:
            return StartedSandbox(actions.sandbox_id, status.ips)
        self.counts["started_pods",] += 1
        outcome = result.add("CreatePodSandbox", format_pod(pod))
        try:
            await self._helper.prepare_dynamic_resources(pod)
        except DynamicResourcesError as error:
            reason = "FailedPrepareDynamicResources"
            self._events.event(pod, "Warning", reason, f"Failed to prepare dynamic resources: {error}")
            return None  # not an error of the sync: the next one retries
        what = "Failed to generate sandbox config"
        try:
            config, warned = generate_pod_sandbox_config(pod, actions.attempt, self._helper)
            what = "Failed to create sandbox"
            if pod.spec.runtime_class_name:
                config = replace(config, runtime_handler=self._helper.lookup_runtime_handler(pod))
            if self._recorder.details and self._gates.rules.sandbox_order != "dockertools":
                take_sandbox_steps(self._recorder, config)
            sandbox_id = await self.runtime.run_pod_sandbox(config)
        except (RuntimeCallError, SandboxConfigError) as error:
            if not self._helper.is_pod_termination_requested(pod.metadata.uid):
                self.counts["started_pods_errors",] += 1
                failure = sandbox_failure(self._gates.rules, pod, what, error)
                outcome.action, outcome.target = failure.action, failure.target
                outcome.fail(failure.error, failure.message)
                if failure.event:
                    self._events.event(pod, "Warning", "FailedCreatePodSandBox", failure.event)
            return None
        try:
            made = await self.runtime.pod_sandbox_status(sandbox_id)
        except RuntimeCallError as error:
            reason = "FailedPodSandBoxStatus"
            self._events.event(pod, "Warning", reason, f"Unable to get pod sandbox status: {error}")
            result.sync_error = str(error)
            return None
        ips = status.ips if pod.spec.host_network else sandbox_ips(made.network)
        self._helper.on_pod_sandbox_ready(pod)
        # A configuration with warnings is created again to repeat its Events; any other is unchanged.
        return StartedSandbox(sandbox_id, ips, None if warned else config)

    def _config_for_containers(self, pod: Pod, actions: PodActions, result: PodSyncResult) -> SandboxConfig | None:
        """The configuration of a running sandbox. If no container starts, only its warnings are emitted again."""
        config = None
        try:
            if actions.starts_something():
                config, warned = generate_pod_sandbox_config(pod, actions.attempt, self._helper)
            else:
                warned = check_pod_sandbox_config(pod, self._helper)
        except SandboxConfigError as error:
            result.sync_error = f"GeneratePodSandboxConfig for pod {quoted(format_pod(pod))} failed: {error}"
            return None
        if warned:
            result.has_more_to_do = True
        return config

    async def _start(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        container: Container,
        target: StartTarget,
        pulls: ImageVolumePulls,
        result: PodSyncResult,
    ) -> bool:
        outcome = result.add("StartContainer", container.name)
        now = self._clock.wall()  # wall-clock, for comparison with the runtime's timestamps
        delayed = None
        if target.backs_off:
            delayed = do_back_off(self.backoff, pod, container, status, now, self._gates.rules)
        if delayed is not None:
            self._events.event(pod, "Warning", "BackOff", delayed.event, container.name)
            outcome.fail("CrashLoopBackOff", delayed.message, self._clock.now() + delayed.retry_at - now)
            return False
        kind = _container_type(pod, container)
        self.counts["started_containers", kind] += 1
        try:
            if pulls:
                check_image_volumes(pod, container, pulls, self._events)
            await self._starter.start(target, pod, container, status)
        except ContainerStartFailed as failure:
            self.counts["started_containers_errors", kind, failure.reason] += 1
            outcome.fail(failure.reason, failure.message, failure.retry_at)
            return False
        return True

    # -- KillPod ------------------------------------------------------------------------------------------------

    async def kill_pod(self, pod: Pod, running: RuntimePod, grace_override_s: int | None) -> PodSyncResult:
        """Stop all containers concurrently, then every sandbox. dockertools ignored dead ones."""
        if self._gates.rules.sandbox_order == "dockertools":
            alive = tuple(sandbox for sandbox in running.sandboxes if sandbox.state == "running")
            running = replace(running, sandboxes=alive)
        return await self._kill_all(pod, running, grace_override_s)

    async def _kill_all(self, pod: Pod, running: RuntimePod, grace_override_s: int | None) -> PodSyncResult:
        result = PodSyncResult()
        if running.containers:
            result.results += await self._killer.kill_all(pod, running.containers, grace_override_s)
        outcome = result.add("KillPodSandbox", running.uid)
        for sandbox in running.sandboxes:
            try:
                await self.runtime.stop_pod_sandbox(bare_id(sandbox.id))
            except NotFound:
                continue
            except RuntimeCallError as error:
                outcome.fail(KILL_POD_SANDBOX_ERROR, str(error))
        return result

    def hooks_under_way(self) -> list[asyncio.Task[None]]:
        """Tasks of preStop hooks that nobody waits for."""
        return list(self._killer.hooks_under_way)

    async def kill_unknown_container(self, info: ContainerInfo) -> None:
        """Stop a container from its labels alone; it may still be running."""
        pod, container = restore_specs(info.labels, info.annotations)
        pod = pod.changed(spec=pod.spec.changed(containers=(container,)))
        message = "Container is in unknown state, try killing it before removal"
        await self._killer.kill(pod, info.id, info.name, message=message)

    async def remove_container(self, identifier: str) -> None:
        """Remove a dead container and its log. Raises NotFound before the removal if it is gone."""
        info = await self.runtime.container_status(bare_id(identifier))
        if info.log_path:
            self.logs.removed(info.pod_uid, info.name, info.attempt)
        await self.runtime.remove_container(info.id)

    # -- pod listings and statuses ------------------------------------------------------------------------------

    async def get_pods(self) -> dict[str, RuntimePod]:
        """All pods of the runtime, by uid."""
        return await self._listed.get()

    async def get_running_pods(self) -> dict[str, RuntimePod]:
        """The running parts of each pod, by UID."""
        return await self._listed.get_running()

    async def get_pod(self, uid: str) -> RuntimePod | None:
        return await self._listed.get_one(uid)

    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus:
        """Request the status of every listed sandbox and container; removed ones are skipped."""
        sandboxes, containers = [], []
        for sandbox in pod.sandboxes:
            try:
                sandboxes.append(await self.runtime.pod_sandbox_status(bare_id(sandbox.id)))
            except NotFound:
                continue
        for container in pod.containers:
            try:
                containers.append(await self.runtime.container_status(bare_id(container.id)))
            except NotFound:
                continue
        actuated = self._actuated_of(pod.uid)
        return runtime_pod_status(pod, sandboxes, containers, actuated, self.runtime.name)

    def generate_pod_status(self, event: ContainerEventResponse) -> RuntimePodStatus:
        """The pod status of a container event."""
        assert event.sandbox is not None
        return event_pod_status(event, self._actuated_of(event.sandbox.pod_uid))

    def _actuated_of(self, uid: str) -> Mapping[str, ResourceRequirements]:
        resizable = self._gates.enabled("InPlacePodVerticalScaling")
        return self.actuated.containers(uid) if resizable else _NOTHING_ACTUATED


def _container_type(pod: Pod, container: Container) -> str:
    if container in pod.spec.containers:
        return "container"
    return "init_container" if container in pod.spec.init_containers else "ephemeral_container"


def _summary(actions: PodActions) -> dict[str, object]:
    """The decision for the trace, without empty values."""
    resized = actions.containers_to_update.values()
    parts: dict[str, object] = {
        "killPod": actions.kill_pod,
        "createSandbox": actions.create_sandbox,
        "attempt": actions.attempt,
        "kill": [kill.name for kill in actions.containers_to_kill.values()],
        "reset": [reset.container.name for reset in actions.containers_to_reset],
        "startEphemeral": [container.name for container in actions.ephemeral_containers_to_start],
        "startInit": [container.name for container in actions.init_containers_to_start],
        "start": [container.name for container in actions.containers_to_start],
        "resize": list(dict.fromkeys(item.container.name for group in resized for item in group)),
        "resizePod": actions.update_pod_level_resources,
    }
    return {name: value for name, value in parts.items() if value}

"""Starts a container: image, create, start, postStart hook; and the error of each step.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, LifecycleHandler, Pod
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.allocation.actuated import ActuatedState
from kubesim.runtime.allocation.linux_resources import linux_container_resources
from kubesim.runtime.expansion import MessageTooLarge, check_message
from kubesim.runtime.helper import ContainerConfigError, EventRecorder, RuntimeHelper, SandboxConfigError
from kubesim.runtime.images.image_manager import ImageError, ImageManager
from kubesim.runtime.kuberuntime.act.container_kill import ContainerKiller
from kubesim.runtime.kuberuntime.act.hooks import HookFailed, HookRunner
from kubesim.runtime.kuberuntime.container_hash import hashed_part
from kubesim.runtime.kuberuntime.decide.non_root import container_user, verify_run_as_non_root
from kubesim.runtime.kuberuntime.decide.security_profiles import security_context_of
from kubesim.runtime.kuberuntime.labels import new_container_annotations, new_container_labels
from kubesim.runtime.kuberuntime.logs import LogDirectory
from kubesim.runtime.kuberuntime.naming import container_log_path
from kubesim.runtime.kuberuntime.start_failure import SHORT_ID, Step, post_start_failure, start_failure
from kubesim.runtime.kuberuntime.steps import take_create_step, take_created_step, take_link_step
from kubesim.runtime.protocol import ContainerConfig, NamespaceOptions, Runtime, SandboxConfig
from kubesim.runtime.types import RuntimePodStatus, bare_id
from kubesim.trace import Recorder
from kubesim.values import part, replace, value_object


class ContainerStartFailed(Exception):
    """A failed container start: the reason and message for its status."""

    def __init__(self, reason: str, message: str, retry_at: int | None = None) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason, self.message, self.retry_at = reason, message, retry_at


@value_object
class StartTarget:
    """The pod and sandbox of a container to start."""

    sandbox_id: str
    sandbox: SandboxConfig
    pod_ips: tuple[str, ...]
    pull_secrets: tuple[ApiObject, ...] = ()
    backs_off: bool = True  # whether crash-loop back-off applies


@part
class ContainerStarter:
    runtime: Runtime
    events: EventRecorder
    helper: RuntimeHelper
    images: ImageManager
    hooks: HookRunner
    killer: ContainerKiller
    logs: LogDirectory
    actuated: ActuatedState
    recorder: Recorder
    gates: FeatureGates = DEFAULT_GATES

    async def start(self, target: StartTarget, pod: Pod, container: Container, status: RuntimePodStatus) -> None:
        """Start a container. Raises StartFailed after emitting the Events for the user."""
        rules = self.gates.rules
        image_ref = await self._ensure_image(target, pod, container)
        attempt = self._restart_count(pod, container, status)
        config = await self._config(target, pod, container, status, attempt, image_ref)
        self.actuated.started(pod, container, self.gates)
        lifecycle = self.helper.internal_lifecycle
        config = lifecycle.pre_create_container(pod, container, config)
        if self.recorder.details:
            take_create_step(self.recorder, pod, container, config)
        try:
            identifier = await self.runtime.create_container(target.sandbox_id, config, target.sandbox)
        except RuntimeCallError as error:
            raise self._failed(pod, container, "create", error.message) from error
        lifecycle.pre_start_container(pod, container, identifier)
        if self.recorder.details:
            take_created_step(self.recorder, pod, container)
        self.logs.created(pod, container.name, attempt)
        shown = {"name": container.name, "id": identifier[:SHORT_ID]}
        self.events.event(pod, "Normal", "Created", rules.created_event.format(**shown), container.name)
        try:
            await self.runtime.start_container(identifier)
        except RuntimeCallError as error:
            raise self._failed(pod, container, "start", error.message, identifier) from error
        self.events.event(pod, "Normal", "Started", rules.started_event.format(**shown), container.name)
        if self.recorder.details:
            log = f"{target.sandbox.log_directory}/{config.log_path}"
            take_link_step(self.recorder, pod, container, identifier, log)
        if container.lifecycle is not None and container.lifecycle.post_start is not None:
            await self._post_start(pod, container, identifier, container.lifecycle.post_start)

    async def _ensure_image(self, target: StartTarget, pod: Pod, container: Container) -> str:
        try:
            return await self.images.ensure_image_exists(
                pod,
                container.image,
                container.image_pull_policy,
                container=container.name,
                pull_secrets=target.pull_secrets,
                sandbox=target.sandbox,
            )
        except ImageError as error:
            if self.gates.rules.reports_failed_step:
                self.events.event(pod, "Warning", "Failed", f"Error: {error.reason}", container.name)
            raise ContainerStartFailed(error.reason, error.message, error.retry_at) from error

    def _restart_count(self, pod: Pod, container: Container, status: RuntimePodStatus) -> int:
        """One more than the newest record's; without a record, counted from the log files."""
        record = status.find(container.name)
        if record is not None:
            return record.restart_count + 1
        return self.logs.next_attempt(pod, container.name) if self.gates.rules.counts_restarts_by_logs else 0

    async def _config(
        self,
        target: StartTarget,
        pod: Pod,
        container: Container,
        status: RuntimePodStatus,
        attempt: int,
        image_ref: str,
    ) -> ContainerConfig:
        try:
            namespaces = _namespaces(target.sandbox.linux.namespaces, container, status)
            options = self.helper.generate_run_container_options(pod, container, target.pod_ips)
            check_message(options.env, (*container.command, *container.args))
            image = await self.runtime.image_status(container.image)
            uid, username = (None, "") if image is None else (image.uid, image.username)
            problem = verify_run_as_non_root(pod, container, uid, username)
            if problem:
                raise self._failed(pod, container, "user", problem)
            security = security_context_of(pod, container)
        except (ContainerConfigError, SandboxConfigError) as error:
            raise self._failed(pod, container, "config", str(error)) from error
        except MessageTooLarge as error:
            raise self._failed(pod, container, "create", error.message) from error
        except RuntimeCallError as error:
            raise self._failed(pod, container, "config", error.message) from error
        rules = self.gates.rules
        hashed = hashed_part(container, self.gates) if rules.hashes_whole_container else container
        annotations = new_container_annotations(hashed, pod, attempt, rules)
        if options.annotations:  # the kubelet's override those of device plugins
            annotations = {**dict(options.annotations), **annotations}
        has_quota = self.helper.internal_lifecycle.has_cpu_quota(pod, container)
        stop_signal = (container.lifecycle and container.lifecycle.stop_signal) or ""
        return ContainerConfig(
            container=container,
            attempt=attempt,
            image_ref=image_ref,
            labels=new_container_labels(container, pod),
            annotations=annotations,
            log_path=container_log_path(container.name, attempt),
            resources=linux_container_resources(pod, container, self.gates, has_quota=has_quota, swap=self.helper.swap),
            env=options.env,
            hosts_file=options.hosts_file,
            namespaces=namespaces,
            user=container_user(pod, container, uid),
            stop_signal=stop_signal if self.gates.enabled("ContainerStopSignals") else "",
            mounts=options.mounts,
            devices=options.devices,
            cdi_devices=options.cdi_devices,
            security_context=security,
        )

    def _failed(
        self, pod: Pod, container: Container, step: Step, message: str, identifier: str = ""
    ) -> ContainerStartFailed:
        failure = start_failure(self.gates.rules, pod, container, step, message, identifier)
        if failure.event:
            self.events.event(pod, "Warning", "Failed", failure.event, container.name)
        return ContainerStartFailed(failure.reason, failure.message)

    async def _post_start(self, pod: Pod, container: Container, identifier: str, hook: LifecycleHandler) -> None:
        try:
            await self.hooks.run(identifier, pod, container, hook)
        except HookFailed as hook_failure:
            failure, message = post_start_failure(self.gates.rules, str(hook_failure), hook_failure.cause)
            self.events.event(pod, "Warning", "FailedPostStartHook", failure.event, container.name)
            try:
                await self.killer.kill(pod, identifier, container.name, message=message, reason="FailedPostStartHook")
            except RuntimeCallError:
                pass  # the next sync finds the container running and decides again
            raise ContainerStartFailed(failure.reason, failure.message) from hook_failure


def _namespaces(of_pod: NamespaceOptions, container: Container, status: RuntimePodStatus) -> NamespaceOptions:
    """The pod's namespaces; an ephemeral container may join a container's PID namespace (startSpec.getTargetID)."""
    if not container.target_container_name:
        return of_pod
    found = status.find(container.target_container_name)
    if found is None:
        raise ContainerConfigError(f"unable to find target container {container.target_container_name}")
    return replace(of_pod, pid="TARGET", target_id=bare_id(found.id)) if of_pod.pid == "CONTAINER" else of_pod

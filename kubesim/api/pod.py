"""Pod: what it should be (spec) and what it is (status), as far as the kubelet reads and writes it.

Every other field rides along untouched. Text, numbers and lists have Go's zero values, Go's pointers are `| None`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kubesim.api.meta import ApiObject
from kubesim.api.model import Model, shared

# Quantities stay text (or the number YAML made of them): kubesim.api.quantity gives them their meaning.
ResourceList = dict[str, str | int | float]


class ResourceRequirements(Model):
    limits: ResourceList = shared(default={})
    requests: ResourceList = shared(default={})


NO_RESOURCES = ResourceRequirements()


class ContainerPort(Model):
    name: str = ""
    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = ""


class ExecAction(Model):
    command: tuple[str, ...] = ()


class HTTPHeader(Model):
    name: str = ""
    value: str = ""


class HTTPGetAction(Model):
    path: str = ""
    port: int | str = 0
    host: str = ""
    scheme: str = ""
    http_headers: tuple[HTTPHeader, ...] = ()


class TCPSocketAction(Model):
    port: int | str = 0
    host: str = ""


class GRPCAction(Model):
    port: int = 0
    service: str | None = None


class SleepAction(Model):
    seconds: int = 0


class LifecycleHandler(Model):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Model):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class Probe(Model):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 0
    period_seconds: int = 0
    success_threshold: int = 0
    failure_threshold: int = 0
    termination_grace_period_seconds: int | None = None


class ContainerResizePolicy(Model):
    resource_name: str = ""
    restart_policy: str = ""


class ContainerRestartRuleOnExitCodes(Model):
    operator: str = ""
    values: tuple[int, ...] = ()


class ContainerRestartRule(Model):
    action: str = ""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class EnvVar(Model):
    name: str = ""
    value: str = ""


class Container(Model):
    """A regular, init or ephemeral container: upstream has three types that the kubelet treats alike."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[dict[str, Any], ...] = ()
    resources: ResourceRequirements = shared(default=NO_RESOURCES)
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[dict[str, Any], ...] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    image_pull_policy: str = ""
    security_context: dict[str, Any] | None = None
    target_container_name: str = ""


class PodReadinessGate(Model):
    condition_type: str = ""


class Toleration(Model):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class PodOS(Model):
    name: str = ""


class LocalObjectReference(Model):
    name: str = ""


class PodSpec(Model):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    volumes: tuple[dict[str, Any], ...] = ()
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    dns_policy: str = ""
    node_selector: dict[str, str] = shared(default={})
    service_account_name: str = ""
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    share_process_namespace: bool | None = None
    security_context: dict[str, Any] | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    hostname: str = ""
    affinity: dict[str, Any] | None = None
    tolerations: tuple[Toleration, ...] = ()
    priority_class_name: str = ""
    priority: int | None = None
    readiness_gates: tuple[PodReadinessGate, ...] = ()
    runtime_class_name: str | None = None
    overhead: ResourceList = shared(default={})
    os: PodOS | None = None
    resources: ResourceRequirements | None = None

    def find_container(self, name: str) -> Container | None:
        """A container of any kind by its name."""
        for containers in (self.containers, self.init_containers, self.ephemeral_containers):
            for container in containers:
                if container.name == name:
                    return container
        return None


class ContainerStateWaiting(Model):
    always_written: ClassVar[frozenset[str] | None] = frozenset()
    reason: str = ""
    message: str = ""


class ContainerStateRunning(Model):
    started_at: str | None = None


class ContainerStateTerminated(Model):
    always_written: ClassVar[frozenset[str] | None] = frozenset({"exit_code"})
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = ""


class ContainerState(Model):
    """At most one of the three is set; none at all counts as waiting."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


NO_STATE = ContainerState()


class ContainerStatus(Model):
    always_written: ClassVar[frozenset[str] | None] = frozenset(
        {"name", "ready", "restart_count", "image", "image_id", "started"}
    )
    name: str = ""
    state: ContainerState = shared(default=NO_STATE)
    last_state: ContainerState = shared(default=NO_STATE)
    ready: bool = False
    restart_count: int = 0
    image: str = ""
    image_id: str = ""
    container_id: str = ""
    started: bool | None = None
    allocated_resources: ResourceList = shared(default={})
    resources: ResourceRequirements | None = None
    volume_mounts: tuple[dict[str, Any], ...] = ()
    stop_signal: str | None = None


class PodCondition(Model):
    always_written: ClassVar[frozenset[str] | None] = frozenset({"type", "status"})
    type: str = ""
    observed_generation: int = 0
    status: str = ""
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class HostIP(Model):
    ip: str = ""


class PodIP(Model):
    ip: str = ""


class PodStatus(Model):
    always_written: ClassVar[frozenset[str] | None] = frozenset()
    observed_generation: int = 0
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = ""
    host_ips: tuple[HostIP, ...] = ()
    pod_ip: str = ""
    pod_ips: tuple[PodIP, ...] = ()
    start_time: str | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    allocated_resources: ResourceList = shared(default={})
    resources: ResourceRequirements | None = None


class Pod(ApiObject):
    spec: PodSpec = shared(default=PodSpec())
    status: PodStatus = shared(default=PodStatus())

"""The API type Pod: spec and status.

The structs whose fields the code reads are classes; the others are declared in `schema.tables` and remain JSON objects.
Strings, numbers and lists have Go's zero values, Go's pointers are `| None`.

Mirrors: k8s.io/api/core/v1/types.go
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.model import Model, go

# Quantities remain text (or the number that YAML decoded); kubesim.api.quantity parses them.
ResourceList = dict[str, str | int | float]


class ResourceRequirements(Model):
    limits: ResourceList = go("ResourceList")
    requests: ResourceList = go("ResourceList")
    claims: tuple[dict[str, Any], ...] = go("[]ContainerResourceClaim")


NO_RESOURCES = ResourceRequirements()


class ContainerPort(Model):
    name: str = go("string")
    host_port: int = go("int32")
    container_port: int = go("int32", always=True)
    protocol: str = go("Protocol")
    host_ip: str = go("string")


class ExecAction(Model):
    command: tuple[str, ...] = go("[]string")


class HTTPHeader(Model):
    name: str = go("string", always=True)
    value: str = go("string", always=True)


class HTTPGetAction(Model):
    path: str = go("string")
    port: int | str = go("IntOrString", always=True)
    host: str = go("string")
    scheme: str = go("URIScheme")
    http_headers: tuple[HTTPHeader, ...] = go("[]HTTPHeader")
    protocol: str | None = go("*HTTPProtocol")  # since v1.37


class TCPSocketAction(Model):
    port: int | str = go("IntOrString", always=True)
    host: str = go("string")


class GRPCAction(Model):
    port: int = go("int32", always=True)
    service: str | None = go("*string", always=True)
    mode: str | None = go("*GRPCProbeMode")  # since v1.37


class SleepAction(Model):
    seconds: int = go("int64", always=True)


class LifecycleHandler(Model):
    exec: ExecAction | None = go("*ExecAction")
    http_get: HTTPGetAction | None = go("*HTTPGetAction")
    tcp_socket: TCPSocketAction | None = go("*TCPSocketAction")
    sleep: SleepAction | None = go("*SleepAction")


class Lifecycle(Model):
    post_start: LifecycleHandler | None = go("*LifecycleHandler")
    pre_stop: LifecycleHandler | None = go("*LifecycleHandler")
    stop_signal: str | None = go("*Signal")


class ProbeHandler(Model, embedded_as="ProbeHandler"):
    exec: ExecAction | None = go("*ExecAction")
    http_get: HTTPGetAction | None = go("*HTTPGetAction")
    tcp_socket: TCPSocketAction | None = go("*TCPSocketAction")
    grpc: GRPCAction | None = go("*GRPCAction")


class Probe(ProbeHandler):
    initial_delay_seconds: int = go("int32")
    timeout_seconds: int = go("int32")
    period_seconds: int = go("int32")
    success_threshold: int = go("int32")
    failure_threshold: int = go("int32")
    termination_grace_period_seconds: int | None = go("*int64")


class ContainerResizePolicy(Model):
    resource_name: str = go("ResourceName", always=True)
    restart_policy: str = go("ResourceResizeRestartPolicy", always=True)


class ContainerRestartRuleOnExitCodes(Model):
    operator: str = go("ContainerRestartRuleOnExitCodesOperator")
    values: tuple[int, ...] = go("[]int32")


class ContainerRestartRule(Model):
    action: str = go("ContainerRestartRuleAction")
    exit_codes: ContainerRestartRuleOnExitCodes | None = go("*ContainerRestartRuleOnExitCodes")


class EnvVar(Model):
    name: str = go("string", always=True)
    value: str = go("string")
    value_from: dict[str, Any] | None = go("*EnvVarSource")


class Container(Model, embedded_as="EphemeralContainerCommon"):
    target_container_name = ""  # only for ephemeral containers
    name: str = go("string", always=True)
    image: str = go("string")
    command: tuple[str, ...] = go("[]string")
    args: tuple[str, ...] = go("[]string")
    working_dir: str = go("string")
    ports: tuple[ContainerPort, ...] = go("[]ContainerPort", merge="containerPort")
    env_from: tuple[dict[str, Any], ...] = go("[]EnvFromSource")
    env: tuple[EnvVar, ...] = go("[]EnvVar", merge="name")
    resources: ResourceRequirements = go("ResourceRequirements")
    resize_policy: tuple[ContainerResizePolicy, ...] = go("[]ContainerResizePolicy")
    restart_policy: str | None = go("*ContainerRestartPolicy")
    restart_policy_rules: tuple[ContainerRestartRule, ...] = go("[]ContainerRestartRule")
    volume_mounts: tuple[dict[str, Any], ...] = go("[]VolumeMount", merge="mountPath")
    volume_devices: tuple[dict[str, Any], ...] = go("[]VolumeDevice", merge="devicePath")
    liveness_probe: Probe | None = go("*Probe")
    readiness_probe: Probe | None = go("*Probe")
    startup_probe: Probe | None = go("*Probe")
    lifecycle: Lifecycle | None = go("*Lifecycle")
    termination_message_path: str = go("string")
    termination_message_policy: str = go("TerminationMessagePolicy")
    image_pull_policy: str = go("PullPolicy")
    security_context: dict[str, Any] | None = go("*SecurityContext")
    stdin: bool = go("bool")
    stdin_once: bool = go("bool")
    tty: bool = go("bool")


class EphemeralContainer(Container):
    target_container_name: str = go("string")


class PodReadinessGate(Model):
    condition_type: str = go("PodConditionType", always=True)


class Toleration(Model):
    key: str = go("string")
    operator: str = go("TolerationOperator")
    value: str = go("string")
    effect: str = go("TaintEffect")
    toleration_seconds: int | None = go("*int64")


class PodOS(Model):
    name: str = go("OSName", always=True)


class LocalObjectReference(Model):
    name: str = go("string")


class PodSpec(Model):
    volumes: tuple[dict[str, Any], ...] = go("[]Volume", merge="name")
    init_containers: tuple[Container, ...] = go("[]Container", merge="name")
    containers: tuple[Container, ...] = go("[]Container", always=True, merge="name")
    ephemeral_containers: tuple[EphemeralContainer, ...] = go("[]EphemeralContainer", merge="name")
    restart_policy: str = go("RestartPolicy")
    termination_grace_period_seconds: int | None = go("*int64")
    active_deadline_seconds: int | None = go("*int64")
    dns_policy: str = go("DNSPolicy")
    node_selector: dict[str, str] = go("map[string]string")
    service_account_name: str = go("string")
    service_account: str = go("string")
    automount_service_account_token: bool | None = go("*bool")
    node_name: str = go("string")
    host_network: bool = go("bool")
    host_pid: bool = go("bool")
    host_ipc: bool = go("bool")
    share_process_namespace: bool | None = go("*bool")
    security_context: dict[str, Any] | None = go("*PodSecurityContext")
    image_pull_secrets: tuple[LocalObjectReference, ...] = go("[]LocalObjectReference", merge="name")
    hostname: str = go("string")
    subdomain: str = go("string")
    affinity: dict[str, Any] | None = go("*Affinity")
    scheduler_name: str = go("string")
    tolerations: tuple[Toleration, ...] = go("[]Toleration")
    host_aliases: tuple[dict[str, Any], ...] = go("[]HostAlias", merge="ip")
    priority_class_name: str = go("string")
    priority: int | None = go("*int32")
    dns_config: dict[str, Any] | None = go("*PodDNSConfig")
    readiness_gates: tuple[PodReadinessGate, ...] = go("[]PodReadinessGate")
    runtime_class_name: str | None = go("*string")
    enable_service_links: bool | None = go("*bool")
    preemption_policy: str | None = go("*PreemptionPolicy")
    overhead: ResourceList = go("ResourceList")
    topology_spread_constraints: tuple[dict[str, Any], ...] = go("[]TopologySpreadConstraint", merge="topologyKey")
    set_hostname_as_fqdn: bool | None = go("*bool")
    os: PodOS | None = go("*PodOS")
    host_users: bool | None = go("*bool")
    scheduling_gates: tuple[dict[str, Any], ...] = go("[]PodSchedulingGate", merge="name")
    resource_claims: tuple[dict[str, Any], ...] = go("[]PodResourceClaim", merge="name")
    resources: ResourceRequirements | None = go("*ResourceRequirements")
    hostname_override: str | None = go("*string")
    scheduling_group: dict[str, Any] | None = go("*PodSchedulingGroup")

    def find_container(self, name: str) -> Container | None:
        """A container of any kind by its name."""
        for containers in (self.containers, self.init_containers, self.ephemeral_containers):
            for container in containers:
                if container.name == name:
                    return container
        return None


class ContainerStateWaiting(Model):
    reason: str = go("string")
    message: str = go("string")


class ContainerStateRunning(Model):
    started_at: str | None = go("Time")


class ContainerStateTerminated(Model):
    exit_code: int = go("int32", always=True)
    signal: int = go("int32")
    reason: str = go("string")
    message: str = go("string")
    started_at: str | None = go("Time")
    finished_at: str | None = go("Time")
    container_id: str = go("string")


class ContainerState(Model):
    """A container's state: at most one of the three is set; none counts as waiting."""

    waiting: ContainerStateWaiting | None = go("*ContainerStateWaiting")
    running: ContainerStateRunning | None = go("*ContainerStateRunning")
    terminated: ContainerStateTerminated | None = go("*ContainerStateTerminated")


NO_STATE = ContainerState()


class ContainerStatus(Model):
    name: str = go("string", always=True)
    state: ContainerState = go("ContainerState")
    last_state: ContainerState = go("ContainerState")
    ready: bool = go("bool", always=True)
    restart_count: int = go("int32", always=True)
    image: str = go("string", always=True)
    image_id: str = go("string", always=True)
    container_id: str = go("string")
    started: bool | None = go("*bool")
    allocated_resources: ResourceList = go("ResourceList")
    resources: ResourceRequirements | None = go("*ResourceRequirements")
    volume_mounts: tuple[dict[str, Any], ...] = go("[]VolumeMountStatus", merge="mountPath")
    user: dict[str, Any] | None = go("*ContainerUser")
    allocated_resources_status: tuple[dict[str, Any], ...] = go("[]ResourceStatus", merge="name")
    stop_signal: str | None = go("*Signal")


class PodCondition(Model):
    type: str = go("PodConditionType", always=True)
    observed_generation: int = go("int64")
    status: str = go("ConditionStatus", always=True)
    last_probe_time: str | None = go("Time")
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class HostIP(Model):
    ip: str = go("string", always=True)


class PodIP(Model):
    ip: str = go("string", always=True)


class PodStatus(Model):
    observed_generation: int = go("int64")
    phase: str = go("PodPhase")
    conditions: tuple[PodCondition, ...] = go("[]PodCondition", merge="type")
    message: str = go("string")
    reason: str = go("string")
    nominated_node_name: str = go("string")
    host_ip: str = go("string")
    host_ips: tuple[HostIP, ...] = go("[]HostIP", merge="ip")
    pod_ip: str = go("string")
    pod_ips: tuple[PodIP, ...] = go("[]PodIP", merge="ip")
    start_time: str | None = go("*Time")
    init_container_statuses: tuple[ContainerStatus, ...] = go("[]ContainerStatus")
    container_statuses: tuple[ContainerStatus, ...] = go("[]ContainerStatus")
    qos_class: str = go("PodQOSClass")
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = go("[]ContainerStatus")
    resize: str = go("PodResizeStatus")
    resource_claim_statuses: tuple[dict[str, Any], ...] = go("[]PodResourceClaimStatus", merge="name")
    extended_resource_claim_status: dict[str, Any] | None = go("*PodExtendedResourceClaimStatus")
    allocated_resources: ResourceList = go("ResourceList")
    resources: ResourceRequirements | None = go("*ResourceRequirements")
    node_allocatable_resource_claim_statuses: tuple[dict[str, Any], ...] = go("[]NodeAllocatableResourceClaimStatus")


class Pod(ApiObject):
    spec: PodSpec = go("PodSpec")
    status: PodStatus = go("PodStatus")

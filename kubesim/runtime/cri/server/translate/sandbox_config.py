"""PodSandboxConfig as the runtime's own configuration: a pod with what the message says of it.

Mirrors: containerd internal/cri/server/sandbox_run.go (metadata), helpers.go makeSandboxName;
internal/cri/server/podsandbox/helpers_linux.go parseUsernsIDs
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Container, ContainerPort, Pod, PodSpec
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.runtime.cri.server.failures import failure
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.protocol import (
    HOST_USERS,
    IdMapping,
    LinuxSandboxConfig,
    NamespaceMode,
    NamespaceOptions,
    SandboxConfig,
    UserNamespace,
)

MODES: dict[int, NamespaceMode] = {0: "POD", 1: "CONTAINER", 2: "NODE", 3: "TARGET"}
_PROTOCOLS = {0: "TCP", 1: "UDP", 2: "SCTP"}
_POD, _NODE = 0, 2


def sandbox_config(message: Any, runtime_handler: str = "") -> SandboxConfig:
    """Raises CriError."""
    if not message.HasField("metadata"):
        raise failure("sandbox config must include metadata")
    options = namespace_options(message.linux.security_context)
    users = user_namespace(options)
    namespaces = NamespaceOptions(
        MODES[options.network], MODES[options.pid], MODES[options.ipc], options.target_id, users
    )
    return SandboxConfig(
        pod=_pod(message, namespaces),
        attempt=message.metadata.attempt,
        labels=dict(message.labels),
        annotations=dict(message.annotations),
        hostname=message.hostname,
        log_directory=message.log_directory,
        dns=_dns(message.dns_config),
        linux=LinuxSandboxConfig(message.linux.cgroup_parent, dict(message.linux.sysctls), namespaces),
        runtime_handler=runtime_handler,
    )


def sandbox_name(metadata: Any) -> str:
    return f"{metadata.name}_{metadata.namespace}_{metadata.uid}_{metadata.attempt}"


def namespace_options(security_context: Any) -> Any:
    return security_context.namespace_options


def _pod(message: Any, namespaces: NamespaceOptions) -> Pod:
    metadata = message.metadata
    ports = tuple(
        ContainerPort(
            container_port=mapping.container_port,
            host_port=mapping.host_port,
            protocol=_PROTOCOLS.get(mapping.protocol, "TCP"),
            host_ip=mapping.host_ip,
        )
        for mapping in message.port_mappings
    )
    return Pod(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            labels=dict(message.labels),
            annotations=dict(message.annotations),
        ),
        spec=PodSpec(
            containers=(Container(name="", ports=ports),) if ports else (),
            hostname=message.hostname,
            host_network=namespaces.network == "NODE",
            host_pid=namespaces.pid == "NODE",
            host_ipc=namespaces.ipc == "NODE",
            share_process_namespace=namespaces.pid == "POD",
        ),
    )


def _dns(message: Any) -> DNSConfig | None:
    """None if it says nothing: the sandbox then has the file of the node."""
    if not (message.servers or message.searches or message.options):
        return None
    return DNSConfig(tuple(message.servers), tuple(message.searches), tuple(message.options))


def user_namespace(options: Any) -> UserNamespace | None:
    """Raises CriError for mappings that containerd refuses."""
    if not options.HasField("userns_options"):
        return HOST_USERS
    users = options.userns_options
    uids, gids = _id_map(users.uids, "UID"), _id_map(users.gids, "GID")
    name = cri_pb2.NamespaceMode.Name(users.mode)
    if users.mode == _NODE:
        if uids or gids:
            raise _refused(
                f'can\'t use user namespace mode "{name}" with mappings. '
                f"Got {len(uids)} UID mappings and {len(gids)} GID mappings"
            )
        return HOST_USERS
    if users.mode != _POD:
        raise _refused(f'unsupported user namespace mode: "{name}"')
    if not uids or not gids:
        raise _refused(f'can\'t use user namespace mode "{name}" without UID and GID mappings')
    return UserNamespace(uids, gids)


def _id_map(mappings: Any, kind: str) -> tuple[IdMapping, ...]:
    if len(mappings) > 1:
        raise _refused(f"{kind} mapping: only one mapping line supported, got {len(mappings)} mapping lines")
    for mapping in mappings:
        if mapping.length < 1:
            raise _refused(f"{kind} mapping: invalid mapping length: {mapping.length}")
        if mapping.container_id:  # runc could not start the sandbox: its user 0 would be nobody
            raise _refused(f"{kind} mapping: container ID 0 is not mapped")
    return tuple(IdMapping(mapping.container_id, mapping.host_id, mapping.length) for mapping in mappings)


def _refused(problem: str) -> Exception:
    return failure(f"user namespace configuration: {problem}")

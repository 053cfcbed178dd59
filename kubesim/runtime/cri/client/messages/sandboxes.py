"""The configuration of a sandbox as a message of CRI.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go generatePodSandboxConfig, generatePodSandboxLinuxConfig;
pkg/kubelet/container/helpers.go MakePortMappings
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import Container, Pod
from kubesim.runtime.cri.client.labels import Owner
from kubesim.runtime.cri.client.machine import MachineFacts
from kubesim.runtime.cri.client.messages.resources import overhead_message, sandbox_message
from kubesim.runtime.cri.client.messages.security import sandbox_security
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.protocol import SandboxConfig


def sandbox_config_message(
    config: SandboxConfig, owner: Owner, machine: MachineFacts, log_directory: str, cgroup_parent: str
) -> pb.PodSandboxConfig:
    """`log_directory` and `cgroup_parent` are the real ones."""
    pod, linux = config.pod, config.linux
    metadata = pod.metadata
    message = pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(
            name=metadata.name, uid=metadata.uid, namespace=metadata.namespace, attempt=config.attempt
        ),
        hostname=config.hostname,
        log_directory=log_directory,
        port_mappings=list(port_mappings(pod)),
        labels=owner.added(config.labels),
        annotations=owner.annotated(config.annotations),
        linux=pb.LinuxPodSandboxConfig(
            cgroup_parent=cgroup_parent,
            sysctls=dict(linux.sysctls),
            security_context=sandbox_security(config),
            resources=sandbox_message(pod, machine),
            overhead=overhead_message(pod, machine),
        ),
    )
    if (dns := config.dns) is not None:
        message.dns_config.servers.extend(dns.servers or ())
        message.dns_config.searches.extend(dns.searches or ())
        message.dns_config.options.extend(dns.options or ())
    return message


def port_mappings(pod: Pod) -> Iterator[pb.PortMapping]:
    for container in pod.spec.containers:
        yield from _of_container(container)


def _of_container(container: Container) -> Iterator[pb.PortMapping]:
    """A name of a port counts once in a container."""
    names: set[str] = set()
    for port in container.ports:
        family = "any" if not port.host_ip else "v6" if ":" in port.host_ip else "v4"
        own = f"{family}-{port.protocol}-{port.host_ip}:{port.container_port}:{port.host_port}"
        name = port.name or own
        if name not in names:
            names.add(name)
            yield pb.PortMapping(
                protocol=pb.Protocol.Value(port.protocol or "TCP"),
                container_port=port.container_port,
                host_port=port.host_port,
                host_ip=port.host_ip,
            )

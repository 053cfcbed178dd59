"""Implementations of a sandbox service's dependencies on a real machine: namespaces bound to files, CNI networks, a
directory of stored sandboxes. Also converts a pod to its CNI input.

Mirrors: containerd pkg/netns, internal/cri/server/sandbox_run_linux.go setupNetnsWithinUserns; pkg/kubelet/kuberuntime
generatePodSandboxConfig, pkg/kubelet/container/helpers.go MakePortMappings
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kubesim.api.pod import Container
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.clock.randomness import Stream
from kubesim.cni.exec.context import Context
from kubesim.cni.gocni import CNI
from kubesim.cni.gocni_result import CNIResult
from kubesim.cni.pod_config import PodNetworkConfig, PortMapping
from kubesim.cni.pod_network import (
    PodNetwork,
    PodNetworkSettings,
    setup_pod_network,
    teardown_pod_network,
)
from kubesim.errors import RuntimeCallError
from kubesim.golang.addresses import parse_ip
from kubesim.linux import netns
from kubesim.runtime.containerd.sandbox import PodSandbox, SandboxRequest
from kubesim.runtime.protocol import IdMapping, SandboxConfig, UserNamespace

_PROTOCOLS = {"TCP": 0, "UDP": 1, "SCTP": 2}


class CniNetworking:
    """Sandbox networking with CNI plugins."""

    def __init__(self, cni: CNI, settings: PodNetworkSettings | None = None) -> None:
        self.cni = cni
        self._settings = settings or PodNetworkSettings()

    async def set_up(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> PodNetwork:
        return await setup_pod_network(self.cni, sandbox_id, netns, pod, self._settings, ctx)

    async def tear_down(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> None:
        await teardown_pod_network(self.cni, sandbox_id, netns, pod, ctx)


class BoundNamespaces:
    """Namespaces of this machine, bound to files with random names."""

    def __init__(self, names: Stream, directory: str = netns.MOUNT_DIR) -> None:
        self._names, self._directory = names, directory

    async def new(self, user_namespace: UserNamespace | None) -> str:
        path = os.path.join(self._directory, netns.netns_name(self._names.randbytes(16)))
        try:
            if user_namespace is None:
                netns.new_netns(path)
            else:
                netns.new_netns_in_user_namespace(path, *id_maps(user_namespace))
        except OSError as error:
            raise RuntimeCallError(f"failed to setup netns: {error}") from error
        return path

    async def remove(self, path: str) -> None:
        try:
            netns.remove_netns(path)
        except OSError as error:
            raise RuntimeCallError(f"failed to umount netns: {error}") from error

    async def is_closed(self, path: str) -> bool:
        try:
            return netns.is_closed(path)
        except OSError as error:
            raise RuntimeCallError(f"get netns fd: {error}") from error


def id_maps(user_namespace: UserNamespace) -> tuple[str, str]:
    """uid and gid maps in the kernel's format."""
    return _map_line(user_namespace.uids[0]), _map_line(user_namespace.gids[0])


def _map_line(mapping: IdMapping) -> str:
    return f"{mapping.container_id} {mapping.host_id} {mapping.length}"


class SandboxDirectory:
    """Stored sandboxes, one file each, written atomically with fsync: a crash leaves the old or the new content."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)

    async def create(self, sandbox: PodSandbox) -> None:
        self._write(sandbox)

    async def update(self, sandbox: PodSandbox) -> None:
        self._write(sandbox)

    async def delete(self, sandbox_id: str) -> None:
        try:
            remove_written(self._path(sandbox_id))
        except OSError as error:
            raise RuntimeCallError(str(error)) from error

    def load(self) -> list[PodSandbox]:
        names = sorted(name for name in os.listdir(self._directory) if name.endswith(".json"))
        return [self._read(os.path.join(self._directory, name)) for name in names]

    def _path(self, sandbox_id: str) -> str:
        return os.path.join(self._directory, f"{sandbox_id}.json")

    def _write(self, sandbox: PodSandbox) -> None:
        try:
            write_through(self._path(sandbox.id), sandbox_json(sandbox))
        except OSError as error:
            raise RuntimeCallError(str(error)) from error

    def _read(self, path: str) -> PodSandbox:
        with open(path, encoding="utf-8") as file:
            return sandbox_from_json(json.load(file))


def write_through(path: str, value: dict[str, Any]) -> None:
    """Replace a file atomically; a crash leaves the old or the new content."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def remove_written(path: str) -> None:
    """Remove a file and its unfinished temporary file."""
    remove_file(f"{path}.new")
    remove_file(path)


def remove_file(path: str) -> None:
    """Remove a file; a missing one is not an error."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def sandbox_json(sandbox: PodSandbox) -> dict[str, Any]:
    request = sandbox.request
    kept = {key: getattr(request, key) for key in ("id", "name", "namespace", "uid", "attempt", "host_network")}
    network = sandbox.network
    addresses = None if network is None else {"ip": network.ip, "additional_ips": list(network.additional_ips)}
    pod = {**asdict(request.network), "annotations": dict(request.network.annotations or {})}
    return {
        "request": {**kept, "network": pod},
        "name": sandbox.name,
        "netns_path": sandbox.netns_path,
        "network": addresses,
    }


def sandbox_from_json(stored: dict[str, Any]) -> PodSandbox:
    request, network = dict(stored["request"]), stored["network"]
    pod = dict(request["network"])
    mappings = tuple(PortMapping(**mapping) for mapping in pod["port_mappings"])
    dns = None if pod["dns"] is None else DNSConfig(**pod["dns"])
    request["network"] = PodNetworkConfig(**{**pod, "port_mappings": mappings, "dns": dns})
    known = None
    if network is not None:
        known = PodNetwork(network["ip"], tuple(network["additional_ips"]), CNIResult({}))
    return PodSandbox(SandboxRequest(**request), stored["name"], "UNKNOWN", stored["netns_path"], known)


def pod_network_config(config: SandboxConfig) -> PodNetworkConfig:
    """The pod's CNI input. As over CRI, an empty list becomes null."""
    metadata, dns = config.pod.metadata, config.dns
    mappings = tuple(mapping for container in config.pod.spec.containers for mapping in port_mappings(container))
    return PodNetworkConfig(
        metadata.name,
        metadata.namespace,
        metadata.uid,
        config.annotations,
        mappings,
        None if dns is None else DNSConfig(dns.servers or None, dns.searches or None, dns.options or None),
        config.linux.cgroup_parent,
    )


def port_mappings(container: Container) -> Iterator[PortMapping]:
    """The ports of a container, without duplicates."""
    seen: set[str] = set()
    for port in container.ports:
        family = "any"
        if port.host_ip:
            family = "v6" if ":" in port.host_ip and parse_ip(port.host_ip) is not None else "v4"
        where = f"{port.container_port}:{port.host_port}"
        name = port.name or f"{family}-{port.protocol}-{port.host_ip}:{where}"
        if name not in seen:
            seen.add(name)
            yield PortMapping(_PROTOCOLS.get(port.protocol, 0), port.container_port, port.host_port, port.host_ip)

"""The hosts file that the kubelet mounts into a pod's containers.

The kubelet creates it with each container (`make_hosts_file`). The text is rendered only when a program opens the file,
which few programs do.

Mirrors: pkg/kubelet/kubelet_pods.go shouldMountHostsFile, makeMounts (its part about /etc/hosts), ensureHostsFile,
nodeHostsFileContent, managedHostsFileContent, hostsEntriesFromHostAliases
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.values import value_object

ETC_HOSTS = "/etc/hosts"
_HEADER = "# Kubernetes-managed hosts file.\n"
_HEADER_HOST_NETWORK = "# Kubernetes-managed hosts file (host network).\n"
_LOCAL = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)


@value_object
class HostsFile:
    """Inputs of the file. `node_hosts` is the node's own file, for a host-network pod."""

    ips: tuple[str, ...] = ()
    host_name: str = ""
    domain: str = ""
    aliases: Sequence[Mapping[str, Any]] = ()
    node_hosts: str | None = None

    def content(self) -> str:
        if self.node_hosts is not None:
            return _HEADER_HOST_NETWORK + self.node_hosts + entries_from_host_aliases(self.aliases)
        return managed_hosts_file_content(self.ips, self.host_name, self.domain, self.aliases)


def should_mount_hosts_file(pod: Pod, container: Container, ips: tuple[str, ...]) -> bool:
    """Whether to mount the file: the pod has an address, and the container mounts no file of its own there."""
    if not ips and not pod.spec.host_network:
        return False
    return not container.volume_mounts or all(mount.get("mountPath") != ETC_HOSTS for mount in container.volume_mounts)


def managed_hosts_file_content(
    ips: Sequence[str], host_name: str, domain: str, aliases: Sequence[Mapping[str, Any]]
) -> str:
    names = f"{host_name}.{domain}\t{host_name}" if domain else host_name
    own = "".join(f"{ip}\t{names}\n" for ip in ips)
    return f"{_HEADER}{_LOCAL}{own}{entries_from_host_aliases(aliases)}"


def entries_from_host_aliases(aliases: Sequence[Mapping[str, Any]]) -> str:
    """One line per address, with all its names."""
    if not aliases:
        return ""
    lines = [f"{alias.get('ip', '')}\t" + "\t".join(alias.get("hostnames") or ()) + "\n" for alias in aliases]
    return "\n# Entries added by HostAliases.\n" + "".join(lines)

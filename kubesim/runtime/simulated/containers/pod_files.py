"""Files that every container has without a volume: /etc/hosts, /etc/hostname, /etc/resolv.conf, /proc/sys.

The kubelet's hosts file belongs to the pod, the others to the sandbox; all containers share them. They are created when
a program first accesses /etc or /proc, because most programs never do.

Mirrors: containerd internal/cri/server/container_create.go linuxContainerMounts; podsandbox/sandbox_run_linux.go
setupSandboxFiles, parseDNSOptions, sandboxContainerSpec (sysctls)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubesim.api.pods.dns_config import DNSConfig
from kubesim.runtime.hosts_file import ETC_HOSTS, HostsFile
from kubesim.runtime.protocol import LinuxSandboxConfig, SandboxConfig
from kubesim.runtime.simulated.containers.container_process import ProcessContext
from kubesim.shell import VirtualFiles, Volume
from kubesim.shell.kernel.files import normal
from kubesim.values import part

ETC_HOSTNAME, RESOLV_CONF, PROC_SYS = "/etc/hostname", "/etc/resolv.conf", "/proc/sys"
_ENTRIES = {ETC_HOSTNAME: "hostname", ETC_HOSTS: "hosts", RESOLV_CONF: "resolv.conf"}
_KUBELETS_HOSTS = "etc-hosts"


@part
class PodFiles:
    """The files of one pod. `read_host` reads a file of the node."""

    node: str
    read_host: Callable[[str], str | None]
    _hosts_file: HostsFile | None = None  # last written by the kubelet
    _hosts: Volume | None = None
    _sandbox: Volume | None = None
    _attempt: int = -1  # attempt of that sandbox

    def container_made(self, context: ProcessContext) -> None:
        """The kubelet rewrites the hosts file for each container that it creates."""
        hosts = context.config.hosts_file
        if hosts is None or hosts is self._hosts_file:
            return
        self._hosts_file = hosts
        file = None if self._hosts is None else self._hosts.get(_KUBELETS_HOSTS)
        if file is not None:
            file.truncate(0)
            file.append(hosts.content(), 0)

    def mount(self, context: ProcessContext, files: VirtualFiles) -> None:
        """Mount the files, except at paths where the container mounts its own."""
        sandbox, container = context.sandbox, context.container
        taken = {normal(mount.get("mountPath", "")) for mount in container.volume_mounts}
        read_only = bool((container.security_context or {}).get("readOnlyRootFilesystem"))
        if context.config.hosts_file is not None:
            taken.add(ETC_HOSTS)
            files.mount(ETC_HOSTS, self._pod_hosts(context.config.hosts_file), sub_path=_KUBELETS_HOSTS)
        volume = self._sandbox_volume(sandbox)
        for path, entry in _ENTRIES.items():
            if path not in taken:
                files.mount(path, volume, sub_path=entry, read_only=read_only)
        sysctls = effective_sysctls(sandbox.linux)
        if sysctls:
            texts = {name.translate(_SLASHES): shown_value(value) for name, value in sysctls.items()}
            files.mount(PROC_SYS, Volume(texts), read_only=True)

    def _pod_hosts(self, hosts: HostsFile) -> Volume:
        if self._hosts is None:
            self._hosts = Volume({_KUBELETS_HOSTS: (self._hosts_file or hosts).content()})
        return self._hosts

    def _sandbox_volume(self, sandbox: SandboxConfig) -> Volume:
        if self._sandbox is None or self._attempt != sandbox.attempt:
            self._attempt = sandbox.attempt
            resolv_conf = self.read_host(RESOLV_CONF) or "" if sandbox.dns is None else resolv_conf_text(sandbox.dns)
            hosts = self.read_host(ETC_HOSTS) or ""
            name = sandbox.hostname or self.node
            self._sandbox = Volume({"hostname": f"{name}\n", "hosts": hosts, "resolv.conf": resolv_conf})
        return self._sandbox


_SLASHES = str.maketrans("./", "/.")


def resolv_conf_text(dns: DNSConfig) -> str:
    """The text; empty without settings."""
    text = f"search {' '.join(dns.searches)}\n" if dns.searches else ""
    text += "".join(f"nameserver {server}\n" for server in dns.servers or ())
    return text + (f"options {' '.join(dns.options)}\n" if dns.options else "")


def effective_sysctls(linux: LinuxSandboxConfig) -> Mapping[str, str]:
    """The pod's sysctls and containerd's defaults (enable_unprivileged_ports, enable_unprivileged_icmp)."""
    namespaces = linux.namespaces
    if namespaces.network == "NODE":
        return linux.sysctls
    added = {"net.ipv4.ip_unprivileged_port_start": "0"}
    if namespaces.users is None or namespaces.users.mode != "POD":
        added["net.ipv4.ping_group_range"] = "0 2147483647"
    return {**added, **linux.sysctls}


def shown_value(value: str) -> str:
    """In the kernel's format: numbers are separated by tabs."""
    return "\t".join(value.split()) + "\n"

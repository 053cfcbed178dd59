"""Sandbox callbacks of the runtime manager: reads node files, emits Events, and allocates user namespaces.

The rules are pure functions in this package.

Mirrors: pkg/kubelet/kubelet_pods.go GetPodCgroupParent, GetOrCreateUserNamespaceMappings, makeHostsMount;
kubelet_network.go GetPodDNS; kubelet_getters.go HandlerSupportsUserNamespaces; network/dns/dns.go getDNSConfig,
CheckLimitsForResolvConf
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod
from kubesim.golang.text import quoted
from kubesim.kubelet.containers.runtime_class import lookup_runtime_handler
from kubesim.kubelet.context import KubeletContext
from kubesim.kubelet.sandbox.dns import pod_dns
from kubesim.kubelet.sandbox.host_name import generate_pod_host_name_and_domain
from kubesim.kubelet.sandbox.resolv_conf import ResolvConf, ResolvConfError, parse_resolv_conf, resolv_conf_problem
from kubesim.kubelet.sandbox.userns import UsernsManager
from kubesim.runtime.allocation.cgroups import pod_cgroup_name, to_cgroupfs, to_systemd
from kubesim.runtime.helper import PodDNS, SandboxConfigError
from kubesim.runtime.hosts_file import ETC_HOSTS, HostsFile, should_mount_hosts_file
from kubesim.runtime.protocol import RuntimeHandler, UserNamespace
from kubesim.values import part

NO_RESOLV_CONF = ResolvConf()


@part
class SandboxHelper:
    """The sandbox part of `RuntimeHelper`."""

    context: KubeletContext
    files: dict[str, str]  # the pods' `userns` files
    read_file: Callable[[str], str | None]
    node_event: Callable[[str, str, str], None]
    handlers: Callable[[], tuple[RuntimeHandler, ...]]
    find: Callable[[str, str, str], ApiObject | None]
    userns: UsernsManager = field(init=False)
    _parsed: tuple[str, ResolvConf] = ("", NO_RESOLV_CONF)  # text and parsed content of the node's resolv.conf

    def __post_init__(self) -> None:
        context = self.context
        stream, ids_per_pod = context.randomness.stream("userns"), context.settings.sandbox.user_ids_per_pod
        self.userns = UsernsManager(
            self.files, stream, self._supports_user_namespaces, context.gates, ids_per_pod=ids_per_pod, max_pods=0
        )

    # -- DNS ----------------------------------------------------------------------------------------------------

    def get_pod_dns(self, pod: Pod) -> PodDNS:
        settings = self.context.settings
        path = settings.sandbox.dns.resolv_conf
        try:
            host = self._resolv_conf(path) if path else NO_RESOLV_CONF
        except ResolvConfError as error:
            raise SandboxConfigError(f"Encountered error while parsing resolv conf file. Error: {error}") from error
        config, warnings = pod_dns(pod, settings.sandbox.dns, host, settings.host_ips)
        for warning in warnings:
            if warning.of_node:
                self.node_event("Warning", warning.reason, warning.message)
            else:
                self.context.events.event(pod, "Warning", warning.reason, warning.message)
        return PodDNS(config, bool(warnings))

    def _resolv_conf(self, path: str) -> ResolvConf:
        text = self._read(path)
        if text != self._parsed[0]:
            self._parsed = text, parse_resolv_conf(text)
        return self._parsed[1]

    def _read(self, path: str) -> str:
        text = self.read_file(path)
        if text is None:
            raise SandboxConfigError(f"open {path}: no such file or directory")
        return text

    def check_limits_for_resolv_conf(self) -> None:
        """Check the node's resolv.conf, once per start of the sync loop."""
        dns = self.context.settings.sandbox.dns
        if not dns.resolv_conf:
            return
        try:
            searches = self._resolv_conf(dns.resolv_conf).searches
            problem = resolv_conf_problem(dns.resolv_conf, searches, dns.cluster_domain)
        except (SandboxConfigError, ResolvConfError) as error:
            problem = str(error)
        if problem:
            self.node_event("Warning", "CheckLimitsForResolvConf", problem)

    # -- host name and hosts file -------------------------------------------------------------------------------

    def generate_pod_host_name_and_domain(self, pod: Pod) -> tuple[str, str]:
        return generate_pod_host_name_and_domain(
            pod, self.context.settings.sandbox.dns.cluster_domain, self.context.gates
        )

    def hosts_file(
        self, pod: Pod, container: Container, ips: tuple[str, ...], names: tuple[str, str]
    ) -> HostsFile | None:
        """The content of /etc/hosts; `names` are host name and domain. None: nothing is mounted there."""
        if not should_mount_hosts_file(pod, container, ips):
            return None
        node_hosts = self._read(ETC_HOSTS) if pod.spec.host_network else None
        return HostsFile(ips, *names, pod.spec.host_aliases, node_hosts)

    # -- control group and user namespace -----------------------------------------------------------------------

    def get_pod_cgroup_parent(self, pod: Pod) -> str:
        cgroups = self.context.settings.sandbox.cgroups
        if not cgroups.per_qos:
            return ""
        name = pod_cgroup_name(pod, cgroups.root, self.context.gates)
        return to_systemd(name) if cgroups.driver == "systemd" else to_cgroupfs(name)

    def get_or_create_user_namespace_mappings(self, pod: Pod) -> UserNamespace | None:
        return self.userns.get_or_create(pod, lookup_runtime_handler(pod, self.find, self.context.gates))

    def _supports_user_namespaces(self, handler: str) -> bool:
        handlers = self.handlers()
        for known in handlers:
            if known.name == handler:
                return known.user_namespaces
        if handlers:
            raise SandboxConfigError(f"the handler {quoted(handler)} is not known")
        return False

"""The configuration of a pod's sandbox, from the pod spec and the kubelet's settings.

SyncPod generates it twice: for a new sandbox, and for starting containers.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go generatePodSandboxConfig, generatePodSandboxLinuxConfig;
kuberuntime/util/util.go NamespacesForPod; pkg/kubelet/util/util.go GetNodenameForKernel; pkg/kubelet/sysctl/util.go
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.pod import Pod
from kubesim.api.pods.sysctl_names import normalize_name
from kubesim.runtime.helper import PodDNS, RuntimeHelper, SandboxConfigError
from kubesim.runtime.kuberuntime.labels import new_pod_annotations, new_pod_labels
from kubesim.runtime.kuberuntime.naming import pod_logs_directory
from kubesim.runtime.protocol import (
    HOST_USERS,
    PLAIN_NAMESPACES,
    LinuxSandboxConfig,
    NamespaceMode,
    NamespaceOptions,
    SandboxConfig,
)

FQDN_MAX = 64
_NO_SYSCTLS: Mapping[str, str] = {}


def generate_pod_sandbox_config(pod: Pod, attempt: int, helper: RuntimeHelper) -> tuple[SandboxConfig, bool]:
    """The configuration, and whether an Event warned about its DNS. Raises SandboxConfigError."""
    dns, host_name = _dns_and_host_name(pod, helper)
    config = SandboxConfig(
        pod=pod,
        attempt=attempt,
        labels=new_pod_labels(pod),
        annotations=new_pod_annotations(pod),
        hostname=host_name,
        log_directory=pod_logs_directory(pod),
        dns=dns.config,
        linux=LinuxSandboxConfig(helper.get_pod_cgroup_parent(pod), _sysctls(pod), namespaces_for_pod(pod, helper)),
    )
    return config, dns.warned


def check_pod_sandbox_config(pod: Pod, helper: RuntimeHelper) -> bool:
    """Only whether an Event warned about its DNS. Raises SandboxConfigError."""
    dns, _ = _dns_and_host_name(pod, helper)
    if pod.spec.host_users is False:
        namespaces_for_pod(pod, helper)
    return dns.warned


def _dns_and_host_name(pod: Pod, helper: RuntimeHelper) -> tuple[PodDNS, str]:
    dns = helper.get_pod_dns(pod)
    if pod.spec.host_network:
        return dns, ""
    short, domain = helper.generate_pod_host_name_and_domain(pod)
    return dns, node_name_for_kernel(short, domain, pod.spec.set_hostname_as_fqdn)


def node_name_for_kernel(host_name: str, domain: str, as_fqdn: bool | None) -> str:
    """The kernel's host name, limited to 64 characters. Raises SandboxConfigError."""
    if not domain or not as_fqdn:
        return host_name
    fqdn = f"{host_name}.{domain}"
    if len(fqdn) > FQDN_MAX:
        raise SandboxConfigError(
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {fqdn} is too long "
            f"({FQDN_MAX} characters is the max, {len(fqdn)} characters requested)"
        )
    return fqdn


def _sysctls(pod: Pod) -> Mapping[str, str]:
    """Sysctls by name with dots as separators: runc rejects slashes."""
    given = (pod.spec.security_context or {}).get("sysctls")
    if not given:
        return _NO_SYSCTLS
    return {normalize_name(item.get("name", "")): item.get("value", "") for item in given}


def namespaces_for_pod(pod: Pod, helper: RuntimeHelper) -> NamespaceOptions:
    """The sandbox's namespaces. Raises SandboxConfigError."""
    spec = pod.spec
    users = helper.get_or_create_user_namespace_mappings(pod)
    plain = not (spec.host_network or spec.host_ipc or spec.host_pid or spec.share_process_namespace)
    if plain and users is HOST_USERS:
        return PLAIN_NAMESPACES
    pid: NamespaceMode = "NODE" if spec.host_pid else "POD" if spec.share_process_namespace else "CONTAINER"
    network: NamespaceMode = "NODE" if spec.host_network else "POD"
    return NamespaceOptions(network, pid, "NODE" if spec.host_ipc else "POD", users=users)

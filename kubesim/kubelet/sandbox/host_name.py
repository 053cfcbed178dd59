"""Host name and domain of a pod, for its sandbox configuration and the hosts file of each container.

Mirrors: pkg/kubelet/kubelet_pods.go GeneratePodHostNameAndDomain, truncatePodHostnameIfNeeded
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.validation.formats import dns1123_label, dns1123_subdomain
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.runtime.helper import SandboxConfigError

HOST_NAME_MAX = 63


def generate_pod_host_name_and_domain(
    pod: Pod, cluster_domain: str, gates: FeatureGates = DEFAULT_GATES
) -> tuple[str, str]:
    """Short host name, and domain (empty without a subdomain). Raises SandboxConfigError."""
    spec, name = pod.spec, pod.metadata.name
    override = spec.hostname_override
    if override is not None and gates.enabled("HostnameOverride"):
        problems = dns1123_subdomain(override)
        if problems:
            text = f"pod HostnameOverride {quoted(override)} is not a valid DNS subdomain: {';'.join(problems)}"
            raise SandboxConfigError(text)
        return truncate_pod_host_name(name, override), ""
    if spec.hostname:
        _check_label("Hostname", spec.hostname)
    host_name = truncate_pod_host_name(name, spec.hostname or name)
    if not spec.subdomain:
        return host_name, ""
    _check_label("Subdomain", spec.subdomain)
    return host_name, f"{spec.subdomain}.{pod.metadata.namespace}.svc.{cluster_domain}"


def _check_label(field: str, value: str) -> None:
    problems = dns1123_label(value)
    if problems:
        raise SandboxConfigError(f"pod {field} {quoted(value)} is not a valid DNS label: {';'.join(problems)}")


def truncate_pod_host_name(pod_name: str, host_name: str) -> str:
    """The host name cut to 63 characters, without a trailing dash or dot."""
    if len(host_name) <= HOST_NAME_MAX:
        return host_name
    truncated = host_name[:HOST_NAME_MAX].rstrip("-.")
    if not truncated:
        raise SandboxConfigError(f"hostname for pod {quoted(pod_name)} was invalid: {quoted(host_name)}")
    return truncated

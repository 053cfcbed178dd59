"""Sysctl admission: a pod may set the safe sysctls and those of the node's allowedUnsafeSysctls.

Runs for every new pod before the predicates.

Mirrors: pkg/kubelet/sysctl/allowlist.go patternAllowlist, safe_sysctls.go; component-helpers/node/util/sysctl
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.pod import Pod
from kubesim.api.pods.sysctl_names import normalize_name
from kubesim.golang.text import quoted

FORBIDDEN = "SysctlForbidden"
SAFE = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
_IPC = (
    "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced", "kernel.shm",
    "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.msg",
)  # fmt: skip


def namespace_of(name: str) -> str:
    """The kernel namespace of a sysctl; empty if it is not namespaced."""
    return "IPC" if name in _IPC or name.startswith("fs.mqueue.") else "Net" if name.startswith("net.") else ""


class SysctlAllowlist:
    """Allowed sysctls. A pattern ends with a star."""

    def __init__(self, allowed_unsafe: Iterable[str] = ()) -> None:
        patterns = [normalize_name(pattern) for pattern in allowed_unsafe]
        self._names = {*SAFE, *(pattern for pattern in patterns if "*" not in pattern)}
        self._prefixes = [pattern.partition("*")[0] for pattern in patterns if "*" in pattern]

    def admit(self, pod: Pod) -> tuple[str, str]:
        """Reason and message of the rejection; both empty if admitted."""
        for sysctl in (pod.spec.security_context or {}).get("sysctls") or ():
            problem = self._problem(normalize_name(sysctl.get("name", "")), pod)
            if problem:
                return FORBIDDEN, f"forbidden sysctl: {problem}"
        return "", ""

    def _problem(self, name: str, pod: Pod) -> str:
        allowed = name if name in self._names else next((p for p in self._prefixes if name.startswith(p)), None)
        if allowed is None:
            return f"{quoted(name)} not allowlisted"
        namespace = namespace_of(allowed)
        of_host = {"IPC": pod.spec.host_ipc, "Net": pod.spec.host_network}.get(namespace, False)
        return f"{quoted(name)} not allowed with host {namespace} enabled" if of_host else ""

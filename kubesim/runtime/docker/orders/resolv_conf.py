"""The resolv.conf of a docker sandbox, which the kubelet overwrites. Pure.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/docker_sandbox.go rewriteResolvFile
"""

from __future__ import annotations

from kubesim.api.pods.dns_config import DNSConfig


def resolv_conf(dns: DNSConfig) -> str:
    """The new content; empty: docker's own file stays."""
    lines = [f"nameserver {server}" for server in dns.servers or ()]
    for word, values in (("search", dns.searches), ("options", dns.options)):
        if values:
            lines.append(" ".join((word, *values)))
    return "".join(f"{line}\n" for line in lines)

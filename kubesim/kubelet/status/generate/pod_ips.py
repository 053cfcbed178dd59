"""Pod addresses in a status: at most one per family, the preferred family first.

Mirrors: pkg/kubelet/kubelet_pods.go sortPodIPs and the end of generateAPIPodStatus.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.golang import addresses as goaddress


def sort_pod_ips(ips: Sequence[str], prefers_ipv6: bool = False) -> tuple[str, ...]:
    """The first address of the preferred family and the first of the other family, in canonical form."""
    parsed = [address for address in map(parse_ip, ips) if address is not None]
    preferred = (6, 4) if prefers_ipv6 else (4, 6)
    chosen = []
    for family in preferred:
        for version, text in parsed:
            if version == family:
                chosen.append(text)
                break
    return tuple(chosen)


def host_network_pod_ips(ips: tuple[str, ...], host_ips: Sequence[str]) -> tuple[str, ...]:
    """A host-network pod has the node's addresses; existing addresses stay, and a second family is added."""
    if not ips:
        ips = (host_ips[0],)
    if len(host_ips) == 2 and len(ips) == 1:
        ours, second = parse_ip(ips[0]), parse_ip(host_ips[1])
        if (ours and ours[0]) != (second and second[0]):
            ips = (*ips, host_ips[1])
    return ips


def parse_ip(text: str) -> tuple[int, str] | None:
    """Family and canonical form of an address as in Go; None if it is invalid.

    An IPv4-mapped IPv6 address counts as IPv4.
    """
    packed = goaddress.parse_ip_sloppy(text)
    return None if packed is None else (4 if goaddress.is_ipv4(packed) else 6, goaddress.ip_text(packed))

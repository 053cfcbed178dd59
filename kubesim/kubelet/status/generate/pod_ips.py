"""Addresses in a status: at most one of each family, that of the node's preference first.

Mirrors: pkg/kubelet/kubelet_pods.go sortPodIPs and the end of generateAPIPodStatus.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.golang import addresses as goaddress


def sort_pod_ips(ips: Sequence[str], prefers_ipv6: bool = False) -> tuple[str, ...]:
    """The first address of the preferred family, then the first of the other one, each in its usual spelling."""
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
    """A pod on the node's network has the node's addresses; those it has stay, a second family is added."""
    if not ips:
        ips = (host_ips[0],)
    if len(host_ips) == 2 and len(ips) == 1:
        ours, second = parse_ip(ips[0]), parse_ip(host_ips[1])
        if (ours and ours[0]) != (second and second[0]):
            ips = (*ips, host_ips[1])
    return ips


def parse_ip(text: str) -> tuple[int, str] | None:
    """(family, spelling) of an address as Go reads and writes it; None if it is none.

    An IPv4 address inside IPv6 is an IPv4 address.
    """
    packed = goaddress.parse_ip_sloppy(text)
    return None if packed is None else (4 if goaddress.is_ipv4(packed) else 6, goaddress.ip_text(packed))

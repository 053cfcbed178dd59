"""Bundled network configurations: files in this package, with placeholders for the node's pod ranges as in containerd's
templates (`{{.PodCIDR}}`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

NETWORKS: Final = ("bridge", "dual-stack", "ptp")


def network(name: str, pod_cidrs: Sequence[str], *, called: str = "", bridge: str = "") -> str:
    """The conflist of a node. `pod_cidrs` are its IPv4 and IPv6 ranges. On a shared host it needs a unique name and
    bridge.
    """
    text = _text(name)
    if called:
        text = text.replace('"name": "kubesim"', f'"name": "{called}"')
        text = text.replace('"bridge": "cni0"', f'"bridge": "{bridge}"')
    for mark, cidr in zip(("{{.PodCIDR}}", "{{.PodCIDRv6}}"), pod_cidrs, strict=True):
        text = text.replace(mark, cidr)
    return text


def network_for_order(conflist: str, order: str) -> tuple[str, str]:
    """File name and text of a bundled network, in a format that the kubelet version can read. dockershim supported CNI
    versions up to 0.3.1, dockertools only single plugins.
    """
    if order == "containerd":
        return "10-kubesim.conflist", conflist
    whole = json.loads(conflist)
    if order == "dockershim":
        return "10-kubesim.conflist", json.dumps({**whole, "cniVersion": "0.3.1"}, indent=2)
    first = {"cniVersion": "0.2.0", "name": whole["name"], **whole["plugins"][0]}
    return "10-kubesim.conf", json.dumps(first, indent=2)


def plugins_of(name: str) -> list[str]:
    """The plugin binaries that the network needs, including IPAM plugins."""
    return list(dict.fromkeys(["loopback", *_types(json.loads(_text(name)))]))


def _text(name: str) -> str:
    from importlib.resources import files  # imported here, because only nodes with a real network need it

    return (files(__name__) / f"{name}.conflist").read_text(encoding="utf-8")


def _types(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value["type"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _types(item)

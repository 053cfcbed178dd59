"""The bundled network configurations: files next to this one, with the pod ranges of a node left open
in the words of containerd's own templates (`{{.PodCIDR}}`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

NETWORKS: Final = ("bridge", "dual-stack", "ptp")


def network(name: str, pod_cidrs: Sequence[str], *, called: str = "", bridge: str = "") -> str:
    """The conflist of a node. `pod_cidrs` are its ranges of IPv4 and IPv6 addresses; on a host that others use, too, it
    needs a name and a bridge of its own."""
    text = _text(name)
    if called:
        text = text.replace('"name": "kubesim"', f'"name": "{called}"')
        text = text.replace('"bridge": "cni0"', f'"bridge": "{bridge}"')
    for mark, cidr in zip(("{{.PodCIDR}}", "{{.PodCIDRv6}}"), pod_cidrs, strict=True):
        text = text.replace(mark, cidr)
    return text


def of_its_time(conflist: str, order: str) -> tuple[str, str]:
    """The file of a bundled network: its name and text, as the kubelet that makes sandboxes in this order can read it.
    dockershim knew versions up to 0.3.1, dockertools single plugins only."""
    if order == "containerd":
        return "10-kubesim.conflist", conflist
    whole = json.loads(conflist)
    if order == "dockershim":
        return "10-kubesim.conflist", json.dumps({**whole, "cniVersion": "0.3.1"}, indent=2)
    first = {"cniVersion": "0.2.0", "name": whole["name"], **whole["plugins"][0]}
    return "10-kubesim.conf", json.dumps(first, indent=2)


def plugins_of(name: str) -> list[str]:
    """The plugins that it needs, those for addresses among them."""
    return list(dict.fromkeys(["loopback", *_types(json.loads(_text(name)))]))


def _text(name: str) -> str:
    from importlib.resources import files  # only nodes with a real network read one

    return (files(__name__) / f"{name}.conflist").read_text(encoding="utf-8")


def _types(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value["type"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _types(item)

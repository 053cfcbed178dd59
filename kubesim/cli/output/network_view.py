"""The real networks of a run as text: each node with links, bridges, routes, and the pods attached to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.linux.private_node.holder_client import Seen
from kubesim.runtime.containerd.cni_settings import NetworkPicture

Link = dict[str, Any]


def drawing(picture: NetworkPicture) -> list[str]:
    own = picture.own
    cables = {link["peer"]: (pod, link) for pod, seen in picture.pods.items() for link in cable_ends(seen)}
    lines = [f"node {picture.node}"]
    # Some kernels create unused tunnels, which are down, in every namespace.
    roots = [link for link in own["links"] if link["up"] and not link["master"]]
    branches = [_branch(link, picture, cables) for link in roots] + [[f"route {text}"] for text in routes(own)]
    for number, branch in enumerate(branches):
        last = number == len(branches) - 1
        lines.append(("└─ " if last else "├─ ") + branch[0])
        lines += [("   " if last else "│  ") + line for line in branch[1:]]
    return lines


def _branch(link: Link, picture: NetworkPicture, cables: dict[int, tuple[str, Link]]) -> list[str]:
    """A link and what is attached to it: ports of a bridge, the pod at the other end of a veth pair."""
    lines = [link_text(link, picture.own)]
    if link["index"] in cables:
        pod, other = cables[link["index"]]
        seen = picture.pods[pod]
        lines[0] += f" ── {link_text(other, seen)} of pod {pod.removeprefix('default/')}"
        lines += [f"     route {text}" for text in routes(seen)]
    ports = [port for port in picture.own["links"] if port["master"] == link["index"]]
    for number, port in enumerate(ports):
        branch = _branch(port, picture, cables)
        last = number == len(ports) - 1
        lines.append(("└─ " if last else "├─ ") + branch[0])
        lines += [("   " if last else "│  ") + line for line in branch[1:]]
    return lines


def cable_ends(seen: Seen) -> Iterator[Link]:
    return (link for link in seen["links"] if link["kind"] == "veth" and link["peer_elsewhere"])


def link_text(link: Link, seen: Seen) -> str:
    addresses = [
        entry["address"] for entry in seen["addresses"] if entry["index"] == link["index"] and not entry["link_local"]
    ]
    kind = f" ({link['kind']})" if link["kind"] == "bridge" else ""
    return " ".join((f"{link['name']}{kind}", *addresses))


def routes(seen: Seen) -> Iterator[str]:
    names = {link["index"]: link["name"] for link in seen["links"]}
    for route in seen["routes"]:
        if route["gateway"]:
            family = " (IPv6)" if route["ipv6"] and route["destination"] == "default" else ""
            yield f"{route['destination']}{family} via {route['gateway']} on {names.get(route['index'], '?')}"

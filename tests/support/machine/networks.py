"""A bridge network with real plugins on a private host, and its remaining state."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kubesim.linux import netns
from tests.support.machine.cni_host import NETNS_DIR, STATE_DIR, links, output

BRIDGE: dict[str, Any] = {
    "type": "bridge",
    "bridge": "cni0",
    "isGateway": True,
    "ipam": {
        "type": "host-local",
        "ranges": [[{"subnet": "10.9.0.0/24"}], [{"subnet": "fd00:9::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
    },
}


PORTMAP: dict[str, Any] = {"type": "portmap", "capabilities": {"portMappings": True}}


def conflist(*plugins: dict[str, Any], version: str = "1.0.0") -> bytes:
    return json.dumps({"cniVersion": version, "name": "net", "plugins": plugins}).encode()


def new_namespace(name: str = "one") -> str:
    path = os.path.join(NETNS_DIR, name)
    netns.new_netns(path)
    return path


def left_over() -> dict[str, Any]:
    """The remaining state of plugins and libcni on a host."""
    networks = Path(STATE_DIR, "networks", "net")
    reserved = [path.name for path in networks.glob("*.*.*.*")] if networks.is_dir() else []
    cached = Path(STATE_DIR, "results")
    return {
        "links": [name for name in links() if name not in ("lo", "cni0")],
        "addresses": reserved,
        "cache": sorted(path.name for path in cached.glob("*")) if cached.is_dir() else [],
        "namespaces": sorted(os.listdir(NETNS_DIR)),
        "rules": [line for line in output("iptables-save").splitlines() if "10.9.0." in line],
    }


NOTHING_LEFT: dict[str, list[str]] = {"links": [], "addresses": [], "cache": [], "namespaces": [], "rules": []}

"""Another container runtime that attaches and detaches pods on the same host while kubesim runs.

Its pod ids look like containerd's; it has its own bridge, port mappings and addresses. A check for leaks must not
attribute them to kubesim, and a clean-up must not touch them.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes
from kubesim.cni.exec.process import RealExec
from kubesim.cni.libcni import CNIConfig
from kubesim.linux import netns
from tests.support.machine.cni_host import BIN_DIR, NETNS_DIR, output
from tests.support.machine.networks import PORTMAP, conflist

BRIDGE: Final = {
    "type": "bridge",
    "bridge": "cni0",
    "isGateway": True,
    "ipMasq": True,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]},
}
CACHE: Final = "/var/lib/cni/neighbour"
_PODS: Final = 3  # at a time


class Neighbour:
    """Each step attaches a pod; from the fourth on, every other step detaches the oldest instead."""

    def __init__(self) -> None:
        self._cni = CNIConfig([BIN_DIR], RealExec(), CACHE)
        self._network = network_conf_from_bytes(conflist(BRIDGE, PORTMAP))
        self._checked = network_conf_from_bytes(conflist(BRIDGE))  # CHECK of portmap requires rules of both families
        self._pods: list[RuntimeConf] = []
        self._rules: dict[str, list[str]] = {}
        self._number = 0

    async def step(self) -> None:
        if len(self._pods) > _PODS:
            await self._remove(self._pods.pop(0))
            return
        self._number += 1
        path = os.path.join(NETNS_DIR, f"neighbour-{self._number}")
        netns.new_netns(path)
        port = {"hostPort": 9000 + self._number, "containerPort": 80, "protocol": "tcp"}
        pod = RuntimeConf(pod_id(self._number), path, "eth0", (), {"portMappings": [port]})
        self._pods.append(pod)
        await self._cni.add_network_list(self._network, pod)
        self._rules[path] = _rules(self._number)

    async def leave(self) -> None:
        """Remove all pods; raises an error if anything of them was changed."""
        for pod in self._pods:
            await self._cni.check_network_list(self._checked, pod)
            assert _rules(int(pod.netns.rpartition("-")[2])) == self._rules[pod.netns]
            await self._remove(pod)

    async def _remove(self, pod: RuntimeConf) -> None:
        await self._cni.del_network_list(self._network, pod)
        netns.remove_netns(pod.netns)


def _rules(number: int) -> list[str]:
    return [line for line in output("iptables-save").splitlines() if any(chain in line for chain in _chains(number))]


def pod_id(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def chains(steps: int) -> set[str]:
    """The chains that its plugins create for this many steps."""
    return {chain for number in range(1, steps + 1) for chain in _chains(number)}


def _chains(number: int) -> list[str]:
    named = hashlib.sha512(f"net{pod_id(number)}".encode()).hexdigest()
    return [f"CNI-{kind}{named}"[:28] for kind in ("", "DN-", "SN-")]


@contextmanager
def neighbour() -> Iterator[subprocess.Popen[str]]:
    """A process on this host that does a step for each line of input, and in the end checks that its pods are
    unchanged.
    """
    words = [sys.executable, "-m", __name__]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        _, err = process.communicate()
    assert process.returncode == 0, err


async def main() -> None:
    made = Neighbour()
    for _ in sys.stdin:
        await made.step()
    await made.leave()


if __name__ == "__main__":
    asyncio.run(main())

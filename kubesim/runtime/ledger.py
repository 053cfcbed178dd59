"""Which sandboxes may hold something of the network: written before the first plugin runs, struck out when all of them
have said that it is released.

A sandbox that never came up is forgotten by a runtime even if its DEL failed, and a runtime that is killed forgets what
it was doing. The ledger remembers, with everything that a DEL needs: nothing of it has to be known any more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf import network_of_source
from kubesim.cni.context import Context
from kubesim.cni.gocni import CNI
from kubesim.cni.libcni import CNIConfig
from kubesim.cni.pod_network import PodNetwork, PodNetworkConfig, PodNetworkSettings, cni_namespace_opts
from kubesim.errors import CniError
from kubesim.frozen import frozen
from kubesim.runtime.sandbox_parts import CniNetworking, write_through


@frozen
class Attachment:
    """A sandbox and the networks that it was to be attached to: interface and configuration, in order."""

    sandbox_id: str
    pod: str
    netns: str
    networks: Sequence[Sequence[str]]
    args: Sequence[Sequence[str]] = ()
    capabilities: Mapping[str, Any] | None = None

    def runtime_conf(self, ifname: str, netns: str) -> RuntimeConf:
        args = tuple((key, value) for key, value in self.args)
        return RuntimeConf(self.sandbox_id, netns, ifname, args, self.capabilities)


class Ledger:
    """A file for each sandbox, replaced as a whole and written through."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def note(self, attachment: Attachment) -> None:
        write_through(self._path(attachment.sandbox_id), asdict(attachment))

    def strike(self, sandbox_id: str) -> None:
        try:
            os.unlink(self._path(sandbox_id))
        except FileNotFoundError:
            pass

    def entries(self) -> list[Attachment]:
        names = sorted(name for name in os.listdir(self._directory) if name.endswith(".json"))
        found = []
        for name in names:
            with open(os.path.join(self._directory, name), encoding="utf-8") as file:
                found.append(Attachment(**json.load(file)))
        return found

    def _path(self, sandbox_id: str) -> str:
        return os.path.join(self._directory, f"{sandbox_id}.json")


class LedgerNetworking(CniNetworking):
    """Attaches sandboxes as any runtime does, and keeps the ledger."""

    def __init__(self, cni: CNI, ledger: Ledger, settings: PodNetworkSettings) -> None:
        super().__init__(cni, settings)
        self.ledger = ledger

    async def set_up(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> PodNetwork:
        self.ledger.note(self._attachment(sandbox_id, netns, pod))
        return await super().set_up(sandbox_id, netns, pod, ctx)

    async def tear_down(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> None:
        await super().tear_down(sandbox_id, netns, pod, ctx)
        self.ledger.strike(sandbox_id)

    def _attachment(self, sandbox_id: str, netns: str, pod: PodNetworkConfig) -> Attachment:
        told = cni_namespace_opts(sandbox_id, netns, pod)
        networks = [(network.ifname, network.config.source.decode()) for network in self.cni.networks]
        pod_name = f"{pod.namespace}/{pod.name}"
        return Attachment(sandbox_id, pod_name, netns, networks, tuple(told.args.items()), told.capability_args)


async def release(libcni: CNIConfig, attachment: Attachment, netns: str, ctx: Context) -> str:
    """DEL on all its networks; why not all of it was released, empty if it was."""
    problems: list[CniError] = []
    for ifname, source in attachment.networks:
        try:
            network = network_of_source(source.encode())
            runtime = attachment.runtime_conf(ifname, netns)
            problems += await libcni.release_network_list(network, runtime, ctx)
        except CniError as error:
            problems.append(error)
    return "; ".join(map(str, problems))

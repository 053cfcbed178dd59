"""The ledger: sandboxes that may have network resources. An entry is written before the first plugin runs, and removed
when all plugins have released their resources.

A runtime drops a sandbox that never started, even if its DEL failed; a killed runtime loses its calls in progress. An
entry contains all inputs of a DEL, so later changes of the configuration or the cache do not matter.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes, whole_source
from kubesim.cni.exec.context import Context
from kubesim.cni.gocni import CNI
from kubesim.cni.libcni import CNIConfig
from kubesim.cni.pod_config import PodNetworkConfig
from kubesim.cni.pod_network import PodNetwork, PodNetworkSettings, cni_namespace_opts
from kubesim.errors import CniError, RuntimeCallError
from kubesim.runtime.containerd.sandbox_parts import CniNetworking, remove_written, write_through
from kubesim.values import value_object


@value_object
class NetworkEntry:
    """A network of a sandbox: the interface, and the configuration of all its plugins."""

    name: str
    ifname: str
    source: str


@value_object
class Attachment:
    """A sandbox, its networks in order, and their plugin arguments."""

    sandbox_id: str
    pod: str
    netns: str
    networks: Sequence[NetworkEntry]
    args: Sequence[tuple[str, str]] = ()
    capabilities: Mapping[str, Any] | None = None

    def runtime_conf(self, ifname: str, netns: str) -> RuntimeConf:
        return RuntimeConf(self.sandbox_id, netns, ifname, self.args, self.capabilities)


class Ledger:
    """The ledger: one file per sandbox."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def note(self, attachment: Attachment) -> None:
        try:
            write_through(self._path(attachment.sandbox_id), asdict(attachment))
        except OSError as error:
            raise RuntimeCallError(str(error)) from error

    def remove(self, sandbox_id: str) -> None:
        remove_written(self._path(sandbox_id))

    def entries(self) -> list[Attachment]:
        names = sorted(name for name in os.listdir(self._directory) if name.endswith(".json"))
        return [self._read(os.path.join(self._directory, name)) for name in names]

    def _path(self, sandbox_id: str) -> str:
        return os.path.join(self._directory, f"{sandbox_id}.json")

    def _read(self, path: str) -> Attachment:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        networks = tuple(NetworkEntry(**entry) for entry in stored.pop("networks"))
        args = tuple((key, value) for key, value in stored.pop("args"))
        return Attachment(**stored, networks=networks, args=args)


class LedgerNetworking(CniNetworking):
    """Attaches sandboxes like any runtime, and records them in the ledger."""

    def __init__(self, cni: CNI, ledger: Ledger, settings: PodNetworkSettings) -> None:
        super().__init__(cni, settings)
        self._ledger = ledger

    async def set_up(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> PodNetwork:
        reported = cni_namespace_opts(sandbox_id, netns, pod)
        networks = [
            NetworkEntry(network.config.name, network.ifname, whole_source(network.config))
            for network in self.cni.networks
        ]
        name, args = f"{pod.namespace}/{pod.name}", tuple(reported.args.items())
        self._ledger.note(Attachment(sandbox_id, name, netns, networks, args, reported.capability_args))
        return await super().set_up(sandbox_id, netns, pod, ctx)

    async def tear_down(self, sandbox_id: str, netns: str, pod: PodNetworkConfig, ctx: Context) -> None:
        await super().tear_down(sandbox_id, netns, pod, ctx)
        self._ledger.remove(sandbox_id)


async def release(libcni: CNIConfig, attachment: Attachment, netns: str, ctx: Context) -> str:
    """DEL on all its networks, continuing after errors; returns the error, or empty if all were released."""
    problems: list[CniError] = []
    for entry in attachment.networks:
        try:
            network = network_conf_from_bytes(entry.source.encode("utf-8", "surrogatepass"))
            problems += await libcni.release_network_list(network, attachment.runtime_conf(entry.ifname, netns), ctx)
        except CniError as error:
            problems.append(error)
    return "; ".join(map(str, problems))

"""What sandboxes left behind that nobody knows any more: found, and removed.

A node's state directory says what is ours: the ledger of attachments, the stored sandboxes, the namespaces and libcni's
cache. What is in one of them and belongs to no sandbox of now is a leak; with it go the addresses, the rules and the
links of that sandbox. Nothing else on the machine is looked at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence

from kubesim.cni.cache import NetworkAttachment
from kubesim.cni.conf import NetworkConfigList, network_of_source
from kubesim.cni.context import with_timeout
from kubesim.cni.libcni import CNIConfig, GCArgs, GCAttachment
from kubesim.errors import CniError
from kubesim.frozen import frozen, replace
from kubesim.node.client import Node
from kubesim.runtime.ledger import Attachment, Ledger, release
from kubesim.runtime.sandbox import PodSandbox
from kubesim.runtime.sandbox_parts import SandboxDirectory

LIMIT_S = 10.0  # of the wall clock, for one sandbox on one of its networks


@frozen
class Places:
    """Where a node keeps what is ours. `networks`: those of which nobody else can have attachments."""

    ledger: Ledger
    sandboxes: SandboxDirectory
    netns_dir: str
    libcni: CNIConfig
    networks: Sequence[NetworkConfigList] = ()


@frozen
class Leak:
    """`problem` is why it is still there."""

    kind: str
    what: str
    pod: str = ""
    problem: str = ""


def _nobody() -> Iterable[PodSandbox]:
    return ()


class Cleaner:
    """`living` are the sandboxes that somebody knows, those that are just being made among them."""

    def __init__(self, node: Node, places: Places, living: Callable[[], Iterable[PodSandbox]] = _nobody) -> None:
        self._node = node
        self._places = places
        self._living = living

    def found(self) -> list[Leak]:
        """What is there; nothing is changed. To be asked on the machine itself, where addresses and rules are."""
        known = {sandbox.id for sandbox in self._living()}
        orphans, stale = self._orphans(known), self._stale(known)
        ids = {each.sandbox_id for each in orphans} | {each.container_id for each in stale}
        leaks = [Leak("attachment", f"sandbox {each.sandbox_id}", each.pod) for each in orphans]
        leaks += [Leak("namespace", path) for path in self._namespaces()]
        leaks += [_cache_leak(each) for each in stale]
        leaks += [Leak("address", address) for address in reservations(ids)]
        return leaks + [Leak("rule", rule) for rule in rules(ids)]

    async def clean(self) -> list[Leak]:
        """Remove it; what is still there, and why."""
        known = {sandbox.id for sandbox in self._living()}
        left = [leak for each in self._orphans(known) if (leak := await self._release(each)) is not None]
        busy = {each.netns for each in self._places.ledger.entries()}
        for path in self._namespaces():
            if path not in busy:
                self._node.remove_netns(path)
        await self._forget_sandboxes(known)
        return left + await self._release_cached(known) + await self._collect()

    def _orphans(self, known: set[str]) -> list[Attachment]:
        return [each for each in self._places.ledger.entries() if each.sandbox_id not in known]

    def _namespaces(self) -> list[str]:
        """Those that belong to no sandbox."""
        directory, used = self._places.netns_dir, {sandbox.netns_path for sandbox in self._living()}
        return [path for path in self._node.files(directory) if path not in used]

    async def _release(self, attachment: Attachment) -> Leak | None:
        netns = "" if self._node.is_closed(attachment.netns) else attachment.netns
        with with_timeout(LIMIT_S) as ctx:
            problem = await release(self._places.libcni, attachment, netns, ctx)
        if problem:
            return Leak("attachment", f"sandbox {attachment.sandbox_id}", attachment.pod, problem)
        self._node.remove_netns(attachment.netns)
        self._places.ledger.strike(attachment.sandbox_id)
        return None

    async def _forget_sandboxes(self, known: set[str]) -> None:
        """Stored ones whose network is released; those of which it is not are kept with their ledger's entry."""
        held = {each.sandbox_id for each in self._places.ledger.entries()}
        for stored in await self._places.sandboxes.load():
            if stored.id not in known | held:
                await self._places.sandboxes.delete(stored.id)

    def _stale(self, known: set[str]) -> list[NetworkAttachment]:
        """What libcni's cache has of sandboxes that nobody knows."""
        return [each for each in self._places.libcni.cache.attachments() if each.container_id not in known]

    async def _release_cached(self, known: set[str]) -> list[Leak]:
        """DEL of what libcni's cache still has."""
        libcni, left = self._places.libcni, []
        for each in self._stale(known):
            runtime = each.runtime_conf()
            if runtime.netns and self._node.is_closed(runtime.netns):
                runtime = replace(runtime, netns="")
            with with_timeout(LIMIT_S) as ctx:
                try:
                    problems = await libcni.release_network_list(network_of_source(each.config), runtime, ctx)
                except CniError as error:
                    problems = [error]
            left += [_cache_leak(each, str(problem)) for problem in problems]
        return left

    async def _collect(self) -> list[Leak]:
        """GC, for plugins that can, of what they have themselves."""
        libcni, left = self._places.libcni, []
        valid = [GCAttachment(each.container_id, each.ifname) for each in libcni.cache.attachments()]
        for network in self._places.networks:
            with with_timeout(LIMIT_S) as ctx:
                try:
                    await libcni.gc_network_list(network, GCArgs(valid), ctx)
                except CniError as error:
                    left.append(Leak("network", network.name, problem=str(error)))
        return left


def _cache_leak(attachment: NetworkAttachment, problem: str = "") -> Leak:
    name = f"{attachment.network}-{attachment.container_id}-{attachment.ifname}"
    return Leak("cache file", name, problem=problem)


def reservations(ids: Iterable[str], directory: str = "/var/lib/cni/networks") -> list[str]:
    """Addresses that host-local holds for these sandboxes, by its files: `NETWORK/ADDRESS`."""
    wanted, found = set(ids), []
    for folder, _, names in os.walk(directory):
        for name in sorted(names):
            if name[:1].isdigit() or ":" in name:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    if file.readline().strip() in wanted:
                        found.append(f"{os.path.basename(folder)}/{name}")
    return found


def rules(ids: Iterable[str]) -> list[str]:
    """Chains of portmap for these sandboxes: their rules name them."""
    wanted, found = tuple(ids), []
    for program in ("iptables-save", "ip6tables-save"):
        place = shutil.which(program)
        if place is None:
            continue
        said = subprocess.run([place, "-t", "nat"], capture_output=True, text=True, check=False).stdout
        found += [line for line in said.splitlines() if any(f'id: \\"{each}\\"' in line for each in wanted)]
    return found

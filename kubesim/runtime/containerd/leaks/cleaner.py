"""Removes leftovers of sandboxes: with DEL and GC of the plugins, and on the host then directly.

A failed DEL leaves its sandbox's resources in place for a retry; the ledger keeps the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kubesim.cni.cache import NetworkAttachment
from kubesim.cni.exec.context import Context, with_timeout
from kubesim.cni.gocni import CNI
from kubesim.cni.libcni import CNIConfig, GCAttachment
from kubesim.errors import CniError
from kubesim.linux.private_node.holder_client import PrivateNode
from kubesim.runtime.containerd.home import Home
from kubesim.runtime.containerd.leaks.inventory import remove, take_inventory
from kubesim.runtime.containerd.leaks.ledger import Attachment, Ledger, NetworkEntry, release
from kubesim.runtime.containerd.leaks.leftovers import Inventory, Kind, Leak, find_leaks
from kubesim.runtime.containerd.sandbox import PodSandbox
from kubesim.runtime.containerd.sandbox_parts import SandboxDirectory
from kubesim.values import replace

LIMIT_S: Final = 10.0  # real time per sandbox: a sandbox that hangs must not block the others
# A sandbox is removed from the ledger when it has no leftovers.
_ORDER: Final[tuple[Kind, ...]] = ("link", "namespace", "chain", "address", "cache file", "network", "sandbox")


class Cleaner:
    """`living` returns the known sandboxes, including those being created; it is called again after every wait, because
    other tasks run then. `own_networks` have no foreign attachments, so their plugins may get a list of valid ones.
    """

    def __init__(
        self,
        node: PrivateNode,
        home: Home,
        libcni: CNIConfig,
        living: Callable[[], Iterable[PodSandbox]] = tuple,
        own_networks: CNI | None = None,
    ) -> None:
        self._node = node
        self.home = home
        self._ledger = Ledger(home.attachments)
        self._sandboxes = SandboxDirectory(home.sandboxes)
        self._libcni = libcni
        self._living = living
        self._own_networks = own_networks

    async def clean(self) -> list[Leak]:
        """Clean up; returns the remaining leftovers with reasons."""
        left = []
        for each in self._orphans():
            with with_timeout(LIMIT_S) as ctx:
                problem = await self._release(each, ctx)
            if problem:
                left.append(Leak("sandbox", each.sandbox_id, each.sandbox_id, each.pod, problem))
        with with_timeout(LIMIT_S) as ctx:
            await self._collect(ctx)
        await self._tidy_up()
        return left

    def _orphans(self) -> list[Attachment]:
        """Attachments of unknown sandboxes, from the ledger or otherwise from libcni's cache."""
        known, entries = {sandbox.id for sandbox in self._living()}, self._ledger.entries()
        noted = {each.sandbox_id for each in entries}
        cached = [_of_cache(each) for each in self._libcni.cache.attachments() if each.container_id not in noted]
        return [each for each in (*entries, *cached) if each.sandbox_id not in known]

    async def _release(self, attachment: Attachment, ctx: Context) -> str:
        netns = "" if self._node.is_closed(attachment.netns) else attachment.netns
        problem = await release(self._libcni, attachment, netns, ctx)
        if not problem:
            self._node.remove_netns(attachment.netns)
            self._ledger.remove(attachment.sandbox_id)
        return problem

    async def _collect(self, ctx: Context) -> None:
        """Run GC. A failure is retried next time, or the resources are removed directly."""
        if self._own_networks is not None:
            try:
                await self._own_networks.gc(self._valid, ctx)
            except CniError:
                pass

    def _valid(self) -> list[GCAttachment]:
        """Attachments of living sandboxes, and of those whose DEL failed."""
        entries = self._ledger.entries()
        return [GCAttachment(each.sandbox_id, network.ifname) for each in entries for network in each.networks]

    async def _tidy_up(self) -> None:
        """Remove unknown namespaces and stored sandboxes that are not in the ledger."""
        living, noted = list(self._living()), self._ledger.entries()
        kept = {sandbox.netns_path for sandbox in living} | {each.netns for each in noted}
        for path in self._node.files(self.home.netns_dir):
            if path not in kept:
                self._node.remove_netns(path)
        known = {sandbox.id for sandbox in living} | {each.sandbox_id for each in noted}
        for stored in self._sandboxes.load():
            if stored.id not in known:
                await self._sandboxes.delete(stored.id)


def _of_cache(cached: NetworkAttachment) -> Attachment:
    entry = NetworkEntry(cached.network, cached.ifname, cached.config.decode("utf-8", "surrogatepass"))
    return Attachment(cached.container_id, "", cached.netns, [entry], tuple(cached.cni_args), cached.capability_args)


class HostCleaner(Cleaner):
    """Cleaner of the host itself, where it can inspect everything."""

    def found(self) -> list[Leak]:
        """The leftovers; changes nothing."""
        return self._found(take_inventory(self.home, self._ledger.entries()))

    def _found(self, inventory: Inventory) -> list[Leak]:
        living = list(self._living())
        return find_leaks(inventory, {each.id for each in living}, {each.netns_path for each in living})

    async def clean(self) -> list[Leak]:
        released = self._orphans()
        problems = {leak.sandbox_id: leak.problem for leak in await super().clean()}
        inventory = take_inventory(self.home, self._ledger.entries(), released)
        left = []
        for leak in sorted(self._found(inventory), key=lambda leak: _ORDER.index(leak.kind)):
            if leak.sandbox_id in problems:
                left.append(replace(leak, problem=problems[leak.sandbox_id]))
            elif leak.kind != "network" or not problems:  # otherwise it is in use
                try:
                    remove(leak, self.home, inventory)
                except OSError as error:
                    left.append(replace(leak, problem=str(error)))
        return left

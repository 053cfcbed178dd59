"""The real nodes of a run: private nodes connected by a switch and routes, or the host itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from kubesim.errors import UsageError
from kubesim.linux.networks import plugins_of
from kubesim.linux.private_node.holder_client import PrivateNode, Seen, Underlay
from kubesim.linux.private_node.private import NETNS_DIR, STATE_DIRS
from kubesim.runtime.containerd.cni_node import CniNode
from kubesim.runtime.containerd.cni_settings import CniSettings, NodePlan
from kubesim.runtime.containerd.home import STATE_NETNS_DIR, Home, host_home, lock_state
from kubesim.runtime.containerd.leaks.leftovers import Leak
from kubesim.runtime.containerd.leaks.orphans import lock_plugins
from kubesim.runtime.network.real_ports import Silences

BIN_DIRS = ("/usr/lib/cni", "/opt/cni/bin")


class CniNodes:
    """The real nodes of one run. The state directory locks the host."""

    def __init__(self, settings: CniSettings, plans: Sequence[NodePlan]) -> None:
        bin_dirs = _bin_dirs(settings)
        if settings.state:
            _check_host(plans)
        self._is_host = bool(settings.state)
        self._opened = ExitStack()
        self._underlay = self._opened.enter_context(
            host_underlay(settings.state) if settings.state else closing(Underlay())
        )
        self.silences = Silences()
        self.nodes: list[CniNode] = []
        try:
            for plan in plans:
                node = self._underlay.host_node() if settings.state else self._new_node(plan, plans)
                home = host_home(settings.state) if settings.state else _private_home(node, settings)
                self.nodes.append(CniNode(node, home, settings, bin_dirs, plan, self.silences.turn))
            self._clean()
            self.host_ips = _host_ips(self.nodes[0].node.network()) if settings.state else ()
        except BaseException:
            self._end()
            raise

    def _new_node(self, plan: NodePlan, plans: Sequence[NodePlan]) -> PrivateNode:
        node = self._underlay.new_node()
        node.join(plan.addresses, [route for other in plans if other is not plan for route in _routes(other)])
        return node

    def _clean(self) -> list[Leak]:
        """Remove leftovers of an earlier run, or of this one, from the host. Returns those that remain."""
        if not self._is_host:
            return []
        return [leak for node in self.nodes for leak in asyncio.run(node.cleaner(node.plain_libcni()).clean())]

    def close(self) -> list[Leak]:
        """Stop the nodes; returns the leftovers that could not be removed (none for private nodes)."""
        try:
            return self._clean()
        finally:
            self._end()

    def _end(self) -> None:
        for node in self.nodes:
            node.node.close()
        self._opened.close()


@contextmanager
def host_underlay(state: str) -> Iterator[Underlay]:
    """The host as a node, for this state directory: no other run uses it."""
    with (
        lock_state(state) as lock,
        lock_plugins(state) as plugins_lock,
        closing(Underlay("host", lock, plugins_lock)) as made,
    ):
        yield made


def _check_host(plans: Sequence[NodePlan]) -> None:
    if os.geteuid() != 0:
        raise UsageError("--host-network-node needs root: it makes links and rules on this machine itself")
    if len(plans) > 1:
        raise UsageError(f"--host-network-node is one node; the scenario has {len(plans)}")


def _private_home(node: PrivateNode, settings: CniSettings) -> Home:
    netns_dir = STATE_NETNS_DIR if settings.netns_under_state_dir else NETNS_DIR
    return Home(node.state_directory(), netns_dir=netns_dir)


def _host_ips(seen: Seen) -> tuple[str, ...]:
    """The host's external addresses: those of its default route's link."""
    ways = {route["index"] for route in seen["routes"] if route["destination"] == "default"}
    found = [entry["address"].partition("/")[0] for entry in seen["addresses"] if entry["index"] in ways]
    return tuple(address for address in found if not address.startswith("fe80:")) or ("127.0.0.1",)


def _routes(other: NodePlan) -> list[tuple[str, str]]:
    """Routes to other nodes' pods."""
    gateways = (address.partition("/")[0] for address in other.addresses)
    return list(zip(other.pod_cidrs, gateways, strict=False))


def _bin_dirs(settings: CniSettings) -> tuple[str, ...]:
    """The user's directories; by default the standard ones, which must have the bundled network's plugins."""
    for path in settings.bin_dirs:
        real_path = os.path.realpath(path)
        hidden = (
            next((state for state in STATE_DIRS if real_path.startswith(f"{state}/")), "") if not settings.state else ""
        )
        if hidden or not os.path.isdir(path):
            problem = f"is hidden in a private node, whose {hidden} is its own" if hidden else "is not a directory"
            raise UsageError(f"--cni-bin-dir {path} {problem}")
    bin_dirs = settings.bin_dirs or BIN_DIRS
    if not settings.conf_dir:
        needed = plugins_of(settings.network)
        missing = [name for name in needed if not any(os.path.isfile(f"{directory}/{name}") for directory in bin_dirs)]
        if missing:
            raise UsageError(
                f"the CNI plugins {', '.join(missing)} are not in {', '.join(bin_dirs)}: install them (Debian: "
                "containernetworking-plugins) or name their directory with --cni-bin-dir"
            )
    elif not os.path.isdir(settings.conf_dir):
        raise UsageError(f"--cni-conf-dir {settings.conf_dir} is not a directory")
    return bin_dirs

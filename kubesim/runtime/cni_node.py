"""The runtime `cni` of a node: sandboxes with real networks in a real node, and simulated containers in them.

`CniNodes` are the real nodes under the simulated ones of a run. A call of a plugin takes its virtual time from the
seed; at that instant time stands still until the real process has ended, so that what runs at the same time does not
depend on the machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubesim.clock import LoopClock, Randomness
from kubesim.clock.randomness import Stream
from kubesim.cni.gocni import CNI, Settings, with_default_conf, with_lo_network
from kubesim.cni.netns import MOUNT_DIR, netns_name
from kubesim.cni.plugin_files import plugin_failure
from kubesim.cni.pod_network import PodNetworkSettings
from kubesim.cni.process import Execution, RealExec
from kubesim.errors import CniError, RuntimeCallError, UsageError
from kubesim.frozen import frozen
from kubesim.node.client import Node, Seen, Underlay
from kubesim.node.networks import network, plugins_of
from kubesim.node.private import STATE_DIRS
from kubesim.runtime.real_ports import Silences
from kubesim.runtime.sandbox import Parts, PodSandbox, PodSandboxService
from kubesim.runtime.sandbox_parts import CniNetworking, SandboxDirectory
from kubesim.runtime.sandbox_rules import UserNamespace
from kubesim.runtime.sandboxed import SandboxedRuntime
from kubesim.runtime.simulated.process import ProcessFactory
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.trace.records import CniExec

BIN_DIRS = ("/usr/lib/cni", "/opt/cni/bin")
_NETWORKS = 2  # loopback and one from the directory: containerd is not ready with fewer


@frozen
class CniSettings:
    """`conf_dir` has the user's own configurations; without one it is the shipped `network`."""

    network: str = "bridge"
    conf_dir: str = ""
    bin_dirs: tuple[str, ...] = ()


@frozen
class NodePlan:
    """A node's addresses with their prefix lengths, and its ranges for pods: IPv4, IPv6."""

    addresses: tuple[str, ...]
    pod_cidrs: tuple[str, ...]


@frozen
class NetworkPicture:
    """What a node and its pods have of links, addresses and routes (see `Node.look`)."""

    node: str
    own: Seen
    pods: Mapping[str, Seen]  # by namespace/name


class CniNodes:
    """The real nodes of a run, joined by a switch and routes."""

    def __init__(self, settings: CniSettings, plans: Sequence[NodePlan]) -> None:
        bin_dirs = _bin_dirs(settings)
        self._underlay = Underlay()
        self.silences = Silences()
        self.nodes: list[CniNode] = []
        try:
            for plan in plans:
                node = self._underlay.new_node()
                node.join(plan.addresses, [route for other in plans if other is not plan for route in _routes(other)])
                self.nodes.append(CniNode(node, settings, bin_dirs, plan))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for node in self.nodes:
            node.node.close()
        self._underlay.close()


def _routes(other: NodePlan) -> list[tuple[str, str]]:
    """To another node's pods, by way of that node."""
    gateways = (address.partition("/")[0] for address in other.addresses)
    return list(zip(other.pod_cidrs, gateways, strict=False))


def _bin_dirs(settings: CniSettings) -> tuple[str, ...]:
    """Those of the user as they are; else the usual ones, in which the plugins of the shipped network must be."""
    for path in settings.bin_dirs:
        hidden = next((state for state in STATE_DIRS if os.path.realpath(path).startswith(f"{state}/")), "")
        if hidden or not os.path.isdir(path):
            problem = f"is hidden in a private node, whose {hidden} is its own" if hidden else "is not a directory"
            raise UsageError(f"--cni-bin-dir {path} {problem}")
    places = settings.bin_dirs or BIN_DIRS
    if not settings.conf_dir:
        needed = plugins_of(settings.network)
        missing = [name for name in needed if not any(os.path.isfile(f"{place}/{name}") for place in places)]
        if missing:
            raise UsageError(
                f"the CNI plugins {', '.join(missing)} are not in {', '.join(places)}: install them (Debian: "
                "containernetworking-plugins) or name their directory with --cni-bin-dir"
            )
    elif not os.path.isdir(settings.conf_dir):
        raise UsageError(f"--cni-conf-dir {settings.conf_dir} is not a directory")
    return places


class CniNode:
    """One of them. `observe` hears of every execution of a plugin."""

    def __init__(self, node: Node, settings: CniSettings, bin_dirs: Sequence[str], plan: NodePlan) -> None:
        self.node = node
        self.observe: Callable[[Execution], object] | None = None
        self._directory = node.state_directory()
        conf_dir = settings.conf_dir or f"{self._directory}/net.d"
        if not settings.conf_dir:
            os.mkdir(conf_dir)
            with open(f"{conf_dir}/10-kubesim.conflist", "w") as file:
                file.write(network(settings.network, plan.pod_cidrs))
        places = Settings(bin_dirs, conf_dir, min_networks=_NETWORKS, cache_dir=f"{self._directory}/cni")
        self.cni = CNI(places, RealExec(spawn=node.spawn, observe=self._observed))
        try:
            self.cni.load_now(with_lo_network, with_default_conf)
        except CniError:
            pass  # the node is not ready, and tells why

    def _observed(self, execution: Execution) -> None:
        if self.observe is not None:
            self.observe(execution)

    def runtime(
        self, clock: LoopClock, randomness: Randomness, processes: ProcessFactory, settings: SimulatedSettings
    ) -> SandboxedRuntime:
        # One network after the other: which of two comes first would depend on the machine.
        networking = CniNetworking(self.cni, PodNetworkSettings(setup_serially=True))
        namespaces = NodeNamespaces(self.node, randomness.stream("netns"))
        store = SandboxDirectory(f"{self._directory}/sandboxes")
        service = PodSandboxService(Parts(namespaces, networking, PauseProcess(), store))
        return SandboxedRuntime(clock, randomness, processes, service, networking, settings)


class NodeNamespaces:
    """Network namespaces of a node, with names that are drawn."""

    def __init__(self, node: Node, names: Stream) -> None:
        self._node, self._names = node, names

    async def new(self, user_namespace: UserNamespace | None) -> str:
        path = os.path.join(MOUNT_DIR, netns_name(self._names.randbytes(16)))
        try:
            self._node.new_netns(path)
        except OSError as error:
            raise RuntimeCallError(f"failed to setup netns: {error}") from error
        return path

    async def remove(self, path: str) -> None:
        try:
            self._node.remove_netns(path)
        except OSError as error:
            raise RuntimeCallError(f"failed to umount netns: {error}") from error

    async def is_closed(self, path: str) -> bool:
        try:
            return self._node.is_closed(path)
        except OSError as error:
            raise RuntimeCallError(f"get netns fd: {error}") from error


class PauseProcess:
    """The sandbox container, which does nothing: it need not be played."""

    async def create(self, sandbox: PodSandbox) -> None: ...
    async def ensure_image(self, sandbox: PodSandbox) -> None: ...
    async def start(self, sandbox: PodSandbox) -> None: ...
    async def stop(self, sandbox: PodSandbox) -> None: ...
    async def shut_down(self, sandbox: PodSandbox) -> None: ...


def execution_record(node: str, execution: Execution) -> CniExec:
    """An execution as the trace tells it. The pod is known from what the plugin was told."""
    environ = execution.environ
    args = dict(pair.partition("=")[::2] for pair in environ.get("CNI_ARGS", "").split(";"))
    pod = f"{args['K8S_POD_NAMESPACE']}/{args['K8S_POD_NAME']}" if "K8S_POD_NAME" in args else ""
    failure = plugin_failure(execution.how, execution.stdout, execution.stderr) if execution.how else None
    return CniExec(
        node=node,
        pod=pod,
        plugin=os.path.basename(execution.path),
        command=environ.get("CNI_COMMAND", ""),
        result=None if failure else _json(execution.stdout),
        error=str(failure or ""),
        took=round(execution.seconds * 1_000_000),
    )


def _json(output: bytes) -> Any:
    try:
        return json.loads(output) if output else None
    except ValueError:
        return output.decode(errors="replace")

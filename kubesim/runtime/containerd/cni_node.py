"""A node of runtime `cni`: sandboxes with real networks in a private node, containing simulated containers.

The virtual time of a plugin call is drawn from the seed. At its end virtual time stops until the real process has
ended, so that the order of concurrent calls does not depend on the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubesim.clock import LoopClock, Randomness
from kubesim.clock.randomness import Stream
from kubesim.cni.conf.network_lists import NetworkConfigList
from kubesim.cni.exec.context import Context
from kubesim.cni.exec.faults import FaultyExec, StandIns, stand_in
from kubesim.cni.exec.invoke import PluginExec, pod_of
from kubesim.cni.exec.plugin_files import plugin_failure
from kubesim.cni.exec.process import Execution, RealExec
from kubesim.cni.gocni import CNI, LoadOption, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.cni.libcni import CNIConfig
from kubesim.cni.pod_network import PodNetworkSettings
from kubesim.errors import CniError, RuntimeCallError, UsageError
from kubesim.linux.netns import netns_name
from kubesim.linux.networks import network, network_for_order
from kubesim.linux.private_node.holder_client import PrivateNode
from kubesim.linux.private_node.private import NETNS_DIR
from kubesim.runtime.containerd.cni_settings import CniSettings, NodePlan
from kubesim.runtime.containerd.containerd_1 import FirstSandboxAttempt
from kubesim.runtime.containerd.home import Home
from kubesim.runtime.containerd.leaks.cleaner import Cleaner, HostCleaner
from kubesim.runtime.containerd.leaks.ledger import Ledger, LedgerNetworking
from kubesim.runtime.containerd.sandbox import Parts, PodSandbox, PodSandboxService, SandboxAttempt
from kubesim.runtime.containerd.sandbox_controller import PauseProcess, PlainPause, TracedSteps
from kubesim.runtime.containerd.sandbox_parts import SandboxDirectory, id_maps
from kubesim.runtime.containerd.sandboxed_runtime import SandboxedRuntime
from kubesim.runtime.protocol import UserNamespace
from kubesim.runtime.simulated.containers.container_process import ProcessFactory
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.trace import Recorder
from kubesim.trace.records import CniExec, Fault
from kubesim.values import replace

if TYPE_CHECKING:
    from kubesim.runtime.docker.make import DockerPlan
    from kubesim.runtime.docker.runtime import DockerRuntime

_WHY = {
    "ADD": "the sandbox is attached",
    "DEL": "the sandbox is detached, last plugin first",
}
_VARIABLES = ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH")


class CniNode:
    """A node whose pods have real networks."""

    def __init__(
        self,
        node: PrivateNode,
        home: Home,
        settings: CniSettings,
        bin_dirs: Sequence[str],
        plan: NodePlan,
        turn: asyncio.Lock,
    ) -> None:
        self.node = node
        self._settings = settings
        self._turn = turn
        self._home = home
        self._name = plan.name
        self._environ = {} if settings.state else {"TMPDIR": "/run"}  # the host's /tmp is read-only
        # A user's network on the host may have attachments of others.
        self._is_network_shared = bool(settings.state and settings.conf_dir)
        self._bin_dirs = bin_dirs
        self._faults = [fault.with_own_counts() for name, fault in settings.faults if name in ("", plan.name)]
        self.around_exec: Callable[[PluginExec], PluginExec] = lambda exec: exec  # a scenario can intercept plugins
        self.cache_written: Callable[[str, bytes], bytes] = lambda name, content: content  # and writes of results
        self._is_conf_dir_ours = not settings.conf_dir
        self._conf_dir = settings.conf_dir or f"{home.directory}/net.d"
        if self._is_conf_dir_ours:
            os.makedirs(self._conf_dir, exist_ok=True)
            text = network(settings.network, plan.pod_cidrs, called=home.owner, bridge=home.bridge)
            name, text = network_for_order(text, settings.order)
            with open(f"{self._conf_dir}/{name}", "w") as file:
                file.write(text)

    def plain_libcni(self) -> CNIConfig:
        libcni = CNIConfig(self._bin_dirs, RealExec(spawn=self.node.spawn), self._home.cache)
        libcni.environ |= self._environ
        return libcni

    def cleaner(
        self,
        libcni: CNIConfig,
        living: Callable[[], Iterable[PodSandbox]] = tuple,
        own_networks: CNI | None = None,
    ) -> Cleaner:
        kind = HostCleaner if self._home.owner else Cleaner
        return kind(self.node, self._home, libcni, living, own_networks)

    def runtime(
        self,
        clock: LoopClock,
        randomness: Randomness,
        processes: ProcessFactory,
        settings: SimulatedSettings,
        recorder: Recorder,
    ) -> SandboxedRuntime:
        """The node's runtime. `recorder` gets every plugin execution and every fault."""
        cni = self._cni(clock, randomness, recorder)
        home, observer = self._home, TracedSteps()
        networking = LedgerNetworking(cni, Ledger(home.attachments), self._network_settings())
        namespaces = NodeNamespaces(self.node, randomness.stream("netns", str(home.run)), home.netns_dir)
        is_first = settings.containerd == "1.7"
        controller = PlainPause() if is_first else PauseProcess(observer)
        parts = Parts(namespaces, networking, controller, SandboxDirectory(home.sandboxes))
        parts.observer = observer
        service = PodSandboxService(parts, FirstSandboxAttempt if is_first else SandboxAttempt)
        if home.owner:
            settings = replace(settings, sandbox_id=home.sandbox_id)
        cleaner = self.cleaner(cni.libcni, service.all, None if self._is_network_shared else cni)
        runtime = SandboxedRuntime(clock, randomness, processes, service, networking, settings, cleaner=cleaner)
        observer.runtime = runtime
        return runtime

    def _network_settings(self) -> PodNetworkSettings:
        """Networks are attached concurrently, as in containerd, while `InTurn` serializes their plugins."""
        settings = self._settings
        loopback = self.node.bring_up_loopback if settings.internal_loopback else None
        return PodNetworkSettings(setup_serially=settings.setup_serially, bring_up_loopback=loopback)

    async def follow_configuration(self, clock: LoopClock, runtime: SandboxedRuntime) -> None:
        """Reload the user's configurations on change, by containerd's rules. Bundled ones never change."""
        from kubesim.cni.conf.sync import NetConfSyncer  # imported only with a configuration directory

        networking = runtime.networking
        if networking is None or self._is_conf_dir_ours:
            return
        try:
            syncer = NetConfSyncer(networking.cni, *self._load_options())
        except OSError:
            return  # the machine's inotify watches are used up
        try:
            with clock.listening():
                async for event in syncer.watch:
                    if await syncer.handle(event.mask):
                        runtime.network_changed()
        except CniError:
            pass  # the directory is gone; loaded networks stay
        finally:
            syncer.close()

    def docker_runtime(
        self,
        plan: DockerPlan,
        clock: LoopClock,
        randomness: Randomness,
        processes: ProcessFactory,
        settings: SimulatedSettings,
        recorder: Recorder,
    ) -> DockerRuntime:
        """The runtime of profiles v1.6 and v1.12, whose kubelet calls the plugins."""
        from kubesim.cni.network_plugins import CniNetworkPlugin  # imported only for these profiles
        from kubesim.runtime.docker.make import serve
        from kubesim.runtime.docker.orders.parts import Steps
        from kubesim.runtime.docker.real_node import PROFILES, DockerNamespaces, NodeExec, NodeHost
        from kubesim.runtime.docker.runtime import DockerRuntime

        steps = Steps(recorder, self._name)
        namespaces = DockerNamespaces(self.node, randomness.stream("netns", str(self._home.run)), self._home.netns_dir)
        runtime = DockerRuntime(clock, randomness, processes, settings, plan.docker, steps, namespaces)
        host = NodeHost(plan.order, runtime.inspect_sandbox, runtime.port_mappings, self.node.network)
        exec = NodeExec(self._exec(clock, randomness, recorder), self._environ)
        cidr, dirs = plan.network.pod_cidr, self._bin_dirs
        cni = CniNetworkPlugin(PROFILES[plan.order], self._conf_dir, dirs, exec, host, cidr)
        serve(runtime, plan, [cni], steps)
        self._check_faults([] if cni.default_network is None else [cni.default_network])
        return runtime

    def _load_options(self) -> tuple[LoadOption, ...]:
        """Loopback and the directory: containerd is not ready with fewer networks."""
        return (with_default_conf,) if self._settings.internal_loopback else (with_lo_network, with_default_conf)

    def _cni(self, clock: LoopClock, randomness: Randomness, recorder: Recorder) -> CNI:
        options = self._load_options()
        directories = NetworkDirectories(
            self._bin_dirs,
            self._conf_dir,
            self._settings.max_conf_num,
            min_networks=len(options),
            cache_dir=self._home.cache,
        )
        cni = CNI(directories, self._exec(clock, randomness, recorder))
        cni.libcni.environ |= self._environ
        cni.libcni.cache.written = self.cache_written
        try:
            cni.load_now(*options)
        except CniError:
            pass  # the node is not ready and reports the reason
        self._check_faults([entry.config for entry in cni.networks])
        return cni

    def _exec(self, clock: LoopClock, randomness: Randomness, recorder: Recorder) -> PluginExec:
        """Runs plugins in the node with the scenario's faults, and records them."""

        def observe(execution: Execution) -> None:
            recorder.record(execution_record(self._name, execution))

        def report(text: str, environ: Mapping[str, str]) -> None:
            recorder.record(Fault(node=self._name, pod=pod_of(environ), fault=text))

        exec: PluginExec = InTurn(RealExec(spawn=self.node.spawn, observe=observe), self._turn)
        if self._faults:
            stand_ins = self._write_stand_ins(fault.plugin for fault in self._faults)
            stream = randomness.stream("cni", "faults")
            exec = FaultyExec(exec, self._faults, clock, stream, report, observe, stand_ins)
        return self.around_exec(exec)

    def _write_stand_ins(self, names: Iterable[str]) -> StandIns:
        """Write stand-ins for plugins that others may start, to a directory in the node's search path."""
        directory, written = f"{self._home.directory}/faults", []
        os.makedirs(directory, exist_ok=True)
        for name in {*names} - {"*"}:
            real = next((path for bin_dir in self._bin_dirs if os.path.isfile(path := f"{bin_dir}/{name}")), "")
            if real:
                with open(f"{directory}/{name}", "w") as file:
                    file.write(stand_in(real))
                os.chmod(file.name, 0o755)
                written.append(name)
        return StandIns(f"{self._home.directory_there}/faults", frozenset(written))

    def _check_faults(self, networks: Iterable[NetworkConfigList]) -> None:
        plugins = [plugin for entry in networks for plugin in entry.plugins]
        ipam = [str(plugin.raw["ipam"].get("type")) for plugin in plugins if isinstance(plugin.raw.get("ipam"), dict)]
        known = list(dict.fromkeys([*(plugin.network.type for plugin in plugins), *ipam]))
        for fault in self._faults:
            if fault.plugin not in ("*", *known):
                raise UsageError(f"cni.faults: {fault.plugin} is not a plugin of these networks: {', '.join(known)}")


class InTurn:
    """Runs plugins through another Exec, one at a time per lock, because the order in which concurrent plugins end
    depends on the machine.
    """

    def __init__(self, exec: PluginExec, turn: asyncio.Lock) -> None:
        self._exec, self._turn = exec, turn

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return self._exec.find_in_path(plugin, paths)

    async def exec_plugin(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> bytes:
        async with self._turn:
            return await self._exec.exec_plugin(path, stdin, environ, ctx)


class NodeNamespaces:
    """Network namespaces of a node, with names from the seed."""

    def __init__(self, node: PrivateNode, names: Stream, directory: str = NETNS_DIR) -> None:
        self._node, self._names, self._directory = node, names, directory

    async def new(self, user_namespace: UserNamespace | None) -> str:
        path = os.path.join(self._directory, netns_name(self._names.randbytes(16)))
        try:
            self._node.new_netns(path, () if user_namespace is None else id_maps(user_namespace))
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


def execution_record(node: str, execution: Execution) -> CniExec:
    """The trace record of an execution."""
    environ = execution.environ
    failure = plugin_failure(execution.how, execution.stdout, execution.stderr) if execution.how else None
    return CniExec(
        node=node,
        pod=pod_of(environ),
        plugin=os.path.basename(execution.path),
        command=environ.get("CNI_COMMAND", ""),
        environ={name: environ[name] for name in _VARIABLES if name in environ},
        stdin=_json(execution.stdin),
        result=None if failure else _json(execution.stdout),
        error=str(failure or ""),
        took=round(execution.seconds * 1_000_000),
        why=_WHY.get(environ.get("CNI_COMMAND", ""), ""),
    )


def _json(output: bytes) -> Any:
    try:
        return json.loads(output) if output else None
    except ValueError:
        return output.decode(errors="replace")

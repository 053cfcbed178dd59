"""Runtime `cri`: the kubelets of a run drive a real container runtime, in real time.

    kubelet -> RuntimeService -> CriRuntime -> gRPC -> containerd -> runc, CNI
       |                             |
       +-> HostNetwork, RealVolumes, RealLogFiles: this machine

All of a run is below its state directory and, in the runtime, carries the id of that directory. `close` removes both.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from kubesim.clock import LoopClock, go
from kubesim.clock.wall import unique_name
from kubesim.errors import KubesimError, UsageError
from kubesim.runtime.cri.wire.endpoint import require_grpc, socket_path
from kubesim.scenario.language.cri_items import DEFAULT_ENDPOINT
from kubesim.scenario.runtimes.plugin import NodeSetting, NodeSupplies, RuntimePlugin

if TYPE_CHECKING:
    from kubesim.runtime.cri.client.connection import RuntimeIdentity
    from kubesim.runtime.cri.client.logs.following import LogFollower
    from kubesim.runtime.cri.client.runtime import CriRuntime
    from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls
    from kubesim.scenario.language.document import Spec


def states_directory() -> str:
    """Where runs without a state directory of their own have theirs."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.abspath(os.path.join(base, "kubesim", "cri"))


class CriPlugin(RuntimePlugin):
    real_time = True

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        item = spec.cri
        require_grpc("--runtime cri")
        from kubesim.runtime.cri.client.machine import read_machine
        from kubesim.runtime.cri.client.state import StateDirectory

        if os.geteuid() != 0:
            raise UsageError("--runtime cri needs root: containers mount volumes that the kubelet makes as root")
        self.endpoint = item.endpoint or DEFAULT_ENDPOINT
        self._path = socket_path(self.endpoint, "--cri-endpoint")
        self._item = item
        self._request_timeout: int = spec.kubelet_configuration.values["runtimeRequestTimeout"]
        self._machine = read_machine()
        self.state = StateDirectory(item.state or os.path.join(states_directory(), unique_name(4)))
        self._identity: RuntimeIdentity | None = None
        self._calls: GrpcCalls | None = None
        self._followers: list[LogFollower] = []
        self._problems: list[str] = []  # of the clean-up

    async def start(self, clock: LoopClock) -> None:
        from kubesim.runtime.cri.client.connection import HeldCalls, identify
        from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls

        self._calls = GrpcCalls(self._path)
        self._held = HeldCalls(self._calls, clock)
        self._identity = await identify(self._held, self.endpoint)

    def node(self, setting: NodeSetting) -> NodeSupplies:
        from kubesim.runtime.cri.client.cgroups import SavedCgroups
        from kubesim.runtime.cri.client.files.volumes import RealVolumes
        from kubesim.runtime.cri.client.host import CriNodeHost
        from kubesim.runtime.cri.client.logs.following import LogFollower
        from kubesim.runtime.cri.client.logs.log_files import RealLogDirectory, RealLogFiles
        from kubesim.runtime.cri.client.runtime import CriRuntime
        from kubesim.runtime.cri.client.signals import send_signal
        from kubesim.runtime.network.host_network import HostNetwork
        from kubesim.scenario.runtimes.cri_stats import CriStats

        assert self._identity is not None
        directory = self.state.node_directory(setting.name)
        volumes = RealVolumes(directory, self.state.shared)
        prefix = "" if self._identity.uses_systemd else f"{self.state.cgroup}/{setting.name}"
        host = CriNodeHost(directory, self._machine, volumes.find, prefix)
        owner = self.state.owner(setting.name)
        runtime = CriRuntime(self._held, owner, host, name=self._identity.name, request_timeout=self._request_timeout)
        if (output := setting.output) is not None:
            follower = LogFollower(setting.clock, host.logs, partial(output.wrote, setting.name))
            self._followers.append(follower)
            setting.tasks.start(f"{setting.name} logs", follower.run())
        stats = CriStats(setting.clock, runtime, volumes)
        setting.tasks.start(f"{setting.name} stats", stats.run())
        return NodeSupplies(
            runtime,
            network=HostNetwork(setting.clock),
            volumes=volumes,
            log_files=RealLogFiles(host.logs, lambda log: _reopen(runtime, log)),
            logs=RealLogDirectory(host.logs),
            cgroups=SavedCgroups(f"{directory}/cgroups.json"),
            stats=stats,
            kill=partial(send_signal, self._held),
            log_file=runtime.log_file,
        )

    async def stop(self) -> None:
        for follower in self._followers:
            follower.close()
        if self._calls is not None:
            if self._identity is not None and not self._item.keep:
                await self._clean()
            await self._calls.close()

    async def _clean(self) -> None:
        from kubesim.runtime.cri.client.leaks.cleaning import remove_sandboxes

        state = self.state.directory
        self._problems = [f"sandboxes of {state}: interrupted: kubesim cri leaks --clean removes them later"]
        try:
            self._problems = await remove_sandboxes(self._held, self.state.id)
        except KubesimError as error:
            self._problems = [f"sandboxes of {state}: {error}: kubesim cri leaks --clean removes them later"]

    def close(self) -> list[str]:
        """The remaining resources, unless the user keeps them."""
        if self._item.keep:
            self.state.close_kept()
            return []
        if self._problems:
            self.state.close()
            return self._problems
        problem = self.state.close_removed()
        return [problem] if problem else []


def _reopen(runtime: CriRuntime, log: str) -> None:
    go(runtime.reopen_log(log), f"reopen {log}")

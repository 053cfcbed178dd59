"""What the orders of dockershim and dockertools stand on: docker, the network, and the steps in the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kubesim.cni.pod_config import PortMapping
from kubesim.runtime.protocol import SandboxConfig
from kubesim.trace import Recorder
from kubesim.trace.records import RuntimeStep
from kubesim.values import value_object


@value_object
class SandboxContainer:
    """What docker says of a sandbox container. `netns` is empty while it does not run."""

    id: str
    name: str
    namespace: str
    running: bool
    host_network: bool
    netns: str = ""
    ip: str = ""  # that docker's own bridge gave it


class Docker(Protocol):
    """The daemon, as far as sandboxes are concerned. A container that does not exist raises NotFound, other failures
    raise RuntimeCallError."""

    def ensure_sandbox_image(self, image: str) -> None:
        """Pull it, if it is missing."""
        ...

    def create_sandbox(self, config: SandboxConfig, name: str) -> str: ...
    async def start_sandbox(self, sandbox_id: str) -> None: ...
    async def network_time(self, sandbox_id: str) -> None:
        """Takes the virtual time of setting up a network."""
        ...

    def inspect_sandbox(self, sandbox_id: str) -> SandboxContainer: ...
    async def stop_sandbox(self, sandbox_id: str) -> None:
        """TERM, and KILL after the grace of a sandbox, 10 s. A kubelet that does not run is stopped."""
        ...

    def remove_sandbox(self, sandbox_id: str) -> None:
        """With the containers in it, by force."""
        ...

    def write_resolv_conf(self, sandbox_id: str, text: str) -> None: ...


class SandboxOrder(Protocol):
    """How one kubelet creates and stops sandboxes. `image_problem`: how the error begins if docker does not answer."""

    image_problem: str

    async def run(self, config: SandboxConfig) -> str: ...
    async def stop(self, sandbox_id: str) -> None: ...
    async def remove(self, sandbox_id: str) -> None: ...
    async def ip(self, sandbox_id: str) -> str:
        """The address of the pod, or nothing."""
        ...

    def port_mappings(self, sandbox_id: str) -> tuple[PortMapping, ...]:
        """The ports of the pod, as a network plugin gets them. Raises CniError."""
        ...

    def kubelet_starts(self) -> None:
        """The memory of the kubelet is new; what is on disk stays."""
        ...


class Steps:
    """The steps of one call, on their way into the trace."""

    def __init__(self, recorder: Recorder, node: str, call: str = "", pod: str = "") -> None:
        self._recorder, self._node = recorder, node
        self._call, self._pod = call, pod

    def of(self, call: str, pod: str = "") -> Steps:
        return Steps(self._recorder, self._node, call, pod)

    def take(self, step: str, why: str = "", error: str = "") -> None:
        if self._recorder.on:
            self._recorder.record(
                RuntimeStep(
                    node=self._node,
                    pod=self._pod,
                    during=self._call,
                    step=step,
                    why=why,
                    error=error,
                    runtime="docker",
                )
            )


Draw = Callable[[], int]  # a number of 32 bits

"""Dependencies of dockershim and dockertools: docker, the network, and trace steps."""

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
    """A sandbox container as docker inspects it. `netns` is empty while it does not run."""

    id: str
    name: str
    namespace: str
    running: bool
    host_network: bool
    netns: str = ""
    ip: str = ""  # from docker's own bridge


class Docker(Protocol):
    """The docker daemon's sandbox operations. A missing container raises NotFound, others RuntimeCallError."""

    def ensure_sandbox_image(self, image: str) -> None:
        """Pull the image if it is missing."""
        ...

    def create_sandbox(self, config: SandboxConfig, name: str) -> str: ...
    async def start_sandbox(self, sandbox_id: str) -> None: ...
    async def network_time(self, sandbox_id: str) -> None:
        """Wait for the virtual time of a network setup."""
        ...

    def inspect_sandbox(self, sandbox_id: str) -> SandboxContainer: ...
    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Send TERM, and KILL after the sandbox grace period of 10 s. A stopped container is not an error."""
        ...

    def remove_sandbox(self, sandbox_id: str) -> None:
        """Force-remove the sandbox with its containers."""
        ...

    def write_resolv_conf(self, sandbox_id: str, text: str) -> None: ...


class SandboxOrder(Protocol):
    """Sandbox operations of one kubelet. `image_problem`: error prefix if docker does not respond."""

    image_problem: str

    async def run(self, config: SandboxConfig) -> str: ...
    async def stop(self, sandbox_id: str) -> None: ...
    async def remove(self, sandbox_id: str) -> None: ...
    async def ip(self, sandbox_id: str) -> str:
        """The pod's address; empty if it has none."""
        ...

    def port_mappings(self, sandbox_id: str) -> tuple[PortMapping, ...]:
        """The pod's ports for a network plugin. Raises CniError."""
        ...

    def kubelet_starts(self) -> None:
        """Drop the kubelet's in-memory state; state on disk stays."""
        ...


class Steps:
    """Records the steps of one call in the trace."""

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


Draw = Callable[[], int]  # a random number of 32 bits

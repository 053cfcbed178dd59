"""Observer interface of a simulated runtime: every change, when it happens."""

from __future__ import annotations

from typing import Literal

from kubesim.runtime.protocol import ContainerInfo, SandboxConfig, SandboxInfo

Killer = Literal["stop", "sandbox", "removal"]  # end of a grace period, of a sandbox, of a record


class RuntimeWatcher:
    """Ignores everything. Subclasses override methods; they must not change anything."""

    def sandbox_made(self, info: SandboxInfo, config: SandboxConfig) -> None: ...

    def sandbox_ended(self, info: SandboxInfo, has_address: bool) -> None:
        """The sandbox's process has ended. `has_address`: its address is still in use."""

    def sandbox_removed(self, info: SandboxInfo) -> None: ...

    def started(self, info: ContainerInfo, has_network: bool) -> None: ...

    def stopping(self, info: ContainerInfo, timeout: int) -> None:
        """StopContainer started: the container gets its stop signal now, and KILL after the timeout."""

    def stop_is_over(self, info: ContainerInfo) -> None:
        """StopContainer returned, because the container has exited or its caller gave up."""

    def killed(self, info: ContainerInfo, by: Killer) -> None:
        """The runtime is about to send KILL."""

    def ended(self, info: ContainerInfo) -> None:
        """The container has exited, or could not be started."""

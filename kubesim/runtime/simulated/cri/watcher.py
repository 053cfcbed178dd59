"""The view of a simulated runtime for an observer: each change, at the moment at which it happens."""

from __future__ import annotations

from typing import Literal

from kubesim.runtime.protocol import ContainerInfo, SandboxConfig, SandboxInfo

Killer = Literal[
    "stop", "sandbox", "removal"
]  # the end of a grace period, a sandbox that ends, a record that is removed


class RuntimeWatcher:
    """Ignores everything. An observer overrides what it wants to see; it must not change anything."""

    def sandbox_made(self, info: SandboxInfo, config: SandboxConfig) -> None: ...

    def sandbox_ended(self, info: SandboxInfo, has_address: bool) -> None:
        """Its process has ended. `has_address`: its address is still taken."""

    def sandbox_removed(self, info: SandboxInfo) -> None: ...

    def started(self, info: ContainerInfo, has_network: bool) -> None: ...

    def stopping(self, info: ContainerInfo, timeout: int) -> None:
        """StopContainer has begun: the container gets its stop signal now, and KILL after the timeout."""

    def stop_is_over(self, info: ContainerInfo) -> None:
        """That call has ended, because the container has or because its caller gave up."""

    def killed(self, info: ContainerInfo, by: Killer) -> None:
        """The runtime is about to send KILL."""

    def ended(self, info: ContainerInfo) -> None:
        """The container has ended, or could not be started."""

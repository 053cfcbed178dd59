"""Simulated network plugins `cni` and `kubenet`: they fail as configured by the scenario and allocate addresses.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/network/cni/cni.go, kubenet/kubenet_linux.go (what they report)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubesim.cni.plugin_manager import InitArguments, not_in_path
from kubesim.errors import CniError
from kubesim.runtime.docker.settings import KUBENET


class SimulatedPlugin:
    """`is_configured`: the configuration file exists (cni), or the node has its pod CIDR (kubenet). `errors` are those
    of the first ADDs; `take` allocates an address; `lacks` is a program that the node does not have.
    """

    def __init__(
        self,
        name: str,
        is_configured: Callable[[], bool],
        errors: Sequence[str],
        take: Callable[[str], str],
        lacks: str = "",
    ) -> None:
        self.name, self._lacks = name, lacks
        self._is_configured, self._take = is_configured, take
        self._errors = list(errors)
        self._has_network = False
        self._addresses: dict[str, str] = {}

    def init(self, given: InitArguments) -> None:
        """Hairpin mode and MTU have no effect on a simulated node."""
        if self._lacks:
            raise not_in_path(self._lacks)
        self._has_network = self._is_configured()

    def log(self) -> Sequence[str]:
        return ()

    async def status(self) -> None:
        """Check the configuration again; once found it stays."""
        self._has_network = self._has_network or self._is_configured()
        self._check_initialized()

    def _check_initialized(self) -> None:
        if not self._has_network:
            lacking = "Kubenet does not have netConfig. This is most likely due to lack of PodCIDR"
            raise CniError(lacking if self.name == KUBENET else "cni config uninitialized")

    async def set_up_pod(self, namespace: str, name: str, sandbox_id: str, annotations: Mapping[str, str]) -> None:
        self._check_initialized()
        if self._errors:
            raise CniError(self._errors.pop(0))
        self._addresses[sandbox_id] = self._take(sandbox_id)

    async def tear_down_pod(self, namespace: str, name: str, sandbox_id: str) -> None:
        self._addresses.pop(sandbox_id, None)

    async def get_pod_network_status(self, namespace: str, name: str, sandbox_id: str) -> str:
        if sandbox_id not in self._addresses:
            raise CniError('Unexpected command output Device "eth0" does not exist.\n with error: exit status 1')
        return self._addresses[sandbox_id]

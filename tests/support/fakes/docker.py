"""A docker daemon and a network plugin that record their calls, for tests of the order of sandbox operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.cni.plugin_manager import NoopNetworkPlugin
from kubesim.errors import CniError, RuntimeCallError
from kubesim.runtime.docker.orders.names import no_such_container
from kubesim.runtime.docker.orders.parts import SandboxContainer, Steps
from kubesim.runtime.protocol import NotFound, SandboxConfig


class FakeDocker:
    """Implements `Docker`. `failures` are errors of calls, by call."""

    def __init__(self, **failures: str) -> None:
        self.failures = failures
        self.calls: list[str] = []
        self.containers: dict[str, SandboxContainer] = {}
        self.resolv_confs: dict[str, str] = {}

    def _called(self, call: str, about: str = "") -> None:
        self.calls.append(f"{call} {about}".rstrip())
        problem = self.failures.pop(call, "")
        if problem:
            raise RuntimeCallError(problem)

    def ensure_sandbox_image(self, image: str) -> None:
        self._called("image", image)

    def create_sandbox(self, config: SandboxConfig, name: str) -> str:
        self._called("create", name)
        metadata, identifier = config.pod.metadata, f"id{len(self.containers)}"
        is_host = config.pod.spec.host_network
        self.containers[identifier] = SandboxContainer(identifier, metadata.name, metadata.namespace, False, is_host)
        return identifier

    async def start_sandbox(self, sandbox_id: str) -> None:
        self._called("start", sandbox_id)
        self._runs(sandbox_id, True)

    def _runs(self, sandbox_id: str, running: bool) -> None:
        old = self.inspect_sandbox(sandbox_id)
        netns = "/proc/7/ns/net" if running else ""
        self.containers[sandbox_id] = SandboxContainer(
            old.id, old.name, old.namespace, running, old.host_network, netns
        )

    async def network_time(self, sandbox_id: str) -> None:
        """Takes no time."""

    def inspect_sandbox(self, sandbox_id: str) -> SandboxContainer:
        if sandbox_id not in self.containers:
            raise NotFound(no_such_container(sandbox_id))
        return self.containers[sandbox_id]

    async def stop_sandbox(self, sandbox_id: str) -> None:
        self.inspect_sandbox(sandbox_id)
        self._called("stop", sandbox_id)
        self._runs(sandbox_id, False)

    def remove_sandbox(self, sandbox_id: str) -> None:
        self.inspect_sandbox(sandbox_id)
        self._called("remove", sandbox_id)
        del self.containers[sandbox_id]

    def write_resolv_conf(self, sandbox_id: str, text: str) -> None:
        self.resolv_confs[sandbox_id] = text


class FakePlugin(NoopNetworkPlugin):
    """A network plugin `cni` that fails while it has `problems`, by verb."""

    name = "cni"

    def __init__(self, docker: FakeDocker, **problems: str) -> None:
        self.docker, self.problems = docker, problems

    def _called(self, verb: str, name: str) -> None:
        self.docker.calls.append(f"{verb} {name}")
        if verb in self.problems:
            raise CniError(self.problems[verb])

    async def set_up_pod(self, namespace: str, name: str, sandbox_id: str, annotations: Mapping[str, str]) -> None:
        self._called("ADD", name)

    async def tear_down_pod(self, namespace: str, name: str, sandbox_id: str) -> None:
        self._called("DEL", name)

    async def get_pod_network_status(self, namespace: str, name: str, sandbox_id: str) -> str:
        self._called("ip", name)
        return "10.1.0.9"


def sandbox_config(*, attempt: int = 0, handler: str = "", **spec: Any) -> SandboxConfig:
    pod = Pod.from_json({"metadata": {"name": "web", "namespace": "ns", "uid": "u1"}, "spec": spec})
    dns = DNSConfig(("10.0.0.10",), ("ns.svc",), ("ndots:5",))
    return SandboxConfig(pod, attempt, {}, {}, dns=dns, runtime_handler=handler)


class NotedSteps(Steps):
    """`names` are the steps; failed ones have an exclamation mark."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def of(self, call: str, pod: str = "") -> NotedSteps:
        return self

    def take(self, step: str, why: str = "", error: str = "") -> None:
        self.names.append(f"{step}{'!' if error else ''}")

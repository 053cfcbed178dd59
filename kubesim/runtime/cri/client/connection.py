"""A connection to a runtime at a socket, opened as the kubelet opens it.

Mirrors: cri-client/pkg remote_runtime.go NewRemoteRuntimeService (validateServiceConnection)
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import UsageError
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.methods import Calls, CriError
from kubesim.values import part, value_object

TIMEOUT = 10 * SECOND
_ADVICE = {
    "no such file or directory": "start the container runtime, or give the path of its socket",
    "connection refused": "nothing listens there: start the container runtime",
    "permission denied": "run kubesim as root, or as a user who may open the socket",
    "it is not HTTP/2": "give the socket of a container runtime",
    "i/o timeout": "what listens there does not answer: give the socket of a container runtime",
}
SYSTEMD = pb.CgroupDriver.Value("SYSTEMD")


@value_object
class RuntimeIdentity:
    name: str
    version: str
    uses_systemd: bool


@part
class HeldCalls:
    """Implements `Calls`. While the clock does not follow the wall clock, it is stopped during each call."""

    calls: Calls
    clock: LoopClock

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        virtual = self.clock.virtual
        with self.clock.external() if virtual is not None and not virtual.speed else nullcontext():
            return await self.calls.call(name, request, timeout)

    def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        return self.calls.stream(name, request)


async def identify(calls: Calls, endpoint: str) -> RuntimeIdentity:
    """What answers there. Raises UsageError."""
    try:
        answer = await calls.call("Version", pb.VersionRequest(version="v1"), TIMEOUT)
        if not answer.runtime_name or answer.runtime_api_version != "v1":
            named = f"runtime {answer.runtime_name or 'without a name'}, CRI {answer.runtime_api_version or 'unknown'}"
            raise UsageError(f"--cri-endpoint {endpoint}: {named}: kubesim needs CRI v1")
        return RuntimeIdentity(answer.runtime_name, answer.runtime_version, await _uses_systemd(calls))
    except CriError as error:
        raise UsageError(f"--cri-endpoint {endpoint}: {why_refused(error)}") from None


def why_refused(error: CriError) -> str:
    """The reason why the first call failed, and a remedy."""
    if error.code == "Unimplemented":
        return (
            "no service runtime.v1 there: it is not a container runtime, or its CRI plugin is disabled, or it is older "
            "than CRI v1 (containerd before 1.6)"
        )
    if error.code == "DeadlineExceeded":
        return f"no answer within {TIMEOUT // SECOND} s: is the runtime well?"
    return next((f"{mark}: {advice}" for mark, advice in _ADVICE.items() if mark in error.text), str(error))


async def _uses_systemd(calls: Calls) -> bool:
    """How the runtime makes cgroups. An older one only reports the configuration of its plugin."""
    try:
        answer = await calls.call("RuntimeConfig", pb.RuntimeConfigRequest(), TIMEOUT)
        return bool(answer.linux.cgroup_driver == SYSTEMD)
    except CriError as error:
        if error.code != "Unimplemented":
            raise
    answer = await calls.call("Status", pb.StatusRequest(verbose=True), TIMEOUT)
    return '"SystemdCgroup":true' in answer.info.get("config", "").replace(" ", "")

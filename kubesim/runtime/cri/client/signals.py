"""Signals to the main process of a real container, as `crictl inspect` and `kill` on the node would send them."""

from __future__ import annotations

import json
import os
from typing import Any

from kubesim.errors import RuntimeCallError
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.methods import Calls

_TIMEOUT = 10_000_000


async def send_signal(calls: Calls, identifier: str, number: int, is_sandbox: bool) -> None:
    """Raises RuntimeCallError."""
    if is_sandbox:
        request: Any = pb.PodSandboxStatusRequest(pod_sandbox_id=identifier, verbose=True)
    else:
        request = pb.ContainerStatusRequest(container_id=identifier, verbose=True)
    answer = await calls.call("PodSandboxStatus" if is_sandbox else "ContainerStatus", request, _TIMEOUT)
    pid = process_id(answer.info.get("info", ""))
    if not pid or not _is_in(pid, identifier):
        raise RuntimeCallError(f"the runtime does not say which process {identifier} is")
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has just ended


def process_id(info: str) -> int:
    """0 if the runtime does not report it."""
    try:
        pid = json.loads(info).get("pid", 0)
    except (ValueError, AttributeError):
        return 0
    return pid if isinstance(pid, int) and pid > 1 else 0


def _is_in(pid: int, identifier: str) -> bool:
    """Whether the process is in the cgroup of this container: a runtime may report a process that has ended, and
    another one may have its number."""
    try:
        with open(f"/proc/{pid}/cgroup") as file:
            return identifier in file.read()
    except OSError:
        return False

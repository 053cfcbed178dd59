"""Removes what a run left in a container runtime: by the label of its state directory, and nothing else."""

from __future__ import annotations

from kubesim.api.timestamps import MINUTE
from kubesim.runtime.cri.client.cgroups import remove_group
from kubesim.runtime.cri.client.errors import is_gone
from kubesim.runtime.cri.client.labels import STATE
from kubesim.runtime.cri.client.state import cgroup_of
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.methods import Calls, CriError

_TIMEOUT = 2 * MINUTE


async def sandboxes_of(calls: Calls, state_id: str) -> list[pb.PodSandbox]:
    """An empty id: of all runs. Raises CriError."""
    request = pb.ListPodSandboxRequest()
    if state_id:
        request.filter.label_selector[STATE] = state_id
    answer = await calls.call("ListPodSandbox", request, _TIMEOUT)
    return [item for item in answer.items if STATE in item.labels]


async def remove_sandboxes(calls: Calls, state_id: str) -> list[str]:
    """Remove the sandboxes of a run with their containers, and its cgroups; returns what is left. Raises CriError."""
    problems = []
    for sandbox in await sandboxes_of(calls, state_id):
        try:
            await _remove(calls, sandbox.id)
        except CriError as error:
            metadata = sandbox.metadata
            problems.append(f"sandbox {sandbox.id} of pod {metadata.namespace}/{metadata.name}: {error}")
    return problems or remove_group(cgroup_of(state_id))


async def _remove(calls: Calls, identifier: str) -> None:
    try:
        await calls.call("StopPodSandbox", pb.StopPodSandboxRequest(pod_sandbox_id=identifier), _TIMEOUT)
        await calls.call("RemovePodSandbox", pb.RemovePodSandboxRequest(pod_sandbox_id=identifier), _TIMEOUT)
    except CriError as error:
        if not is_gone(error):
            raise

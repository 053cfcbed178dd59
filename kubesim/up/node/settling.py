"""Waits until simulated nodes know the pods that their API server has bound to them.

Before and after the clock is advanced: a pod that was created a moment ago must not be found five minutes later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock.real_clock import RealClock
from kubesim.cluster.remote.answers import Undecodable, decode_json
from kubesim.cluster.remote.transport import METADATA_LIST_ONLY, Call, Transport, read_all
from kubesim.errors import ApiError, TransportError
from kubesim.sources.apiserver import PODS, ApiServerSource
from kubesim.sources.reflector.reflector import is_newer

TIMEOUT = 10 * SECOND
_POLL = 10 * MILLISECOND


async def settle(transport: Transport, clock: RealClock, sources: Mapping[str, ApiServerSource]) -> None:
    """Return when each source is as new as its server was at the call, at the latest after ten seconds."""
    deadline = clock.now() + TIMEOUT
    for node, source in sources.items():
        try:
            wanted = await _versions(transport, node)
        except (ApiError, TransportError, Undecodable, KeyError, TypeError):
            return  # the server is unavailable, for the nodes as well
        while not _is_known(wanted, source) and clock.now() < deadline:
            await clock.sleep(_POLL)


async def _versions(transport: Transport, node: str) -> dict[str, str]:
    """The version of each pod of a node, by uid."""
    query = {"fieldSelector": f"spec.nodeName={node}"}
    async with transport.open(Call("list", PODS, query, METADATA_LIST_ONLY)) as reply:
        answer: dict[str, Any] = decode_json(await read_all(reply))
        if reply.status != 200:
            raise ApiError(reply.status, "", "")
    metadata = [item["metadata"] for item in answer.get("items") or ()]
    return {each["uid"]: each["resourceVersion"] for each in metadata}


def _is_known(wanted: Mapping[str, str], source: ApiServerSource) -> bool:
    """A deleted pod counts as known, too: its source has seen a later version than that of the pod."""
    known = {pod.metadata.uid: pod.metadata.resource_version for pod in source.pods()}
    return all(not is_newer(version, known.get(uid) or source.version) for uid, version in wanted.items()) and all(
        uid in wanted or is_newer(version, max(wanted.values(), key=_number, default="0"))
        for uid, version in known.items()
    )


def _number(version: str) -> int:
    return int(version) if version.isdigit() else 0

"""Suggests node names for the error about an unknown node."""

from __future__ import annotations

import difflib

from kubesim.cluster.remote.answers import decode_json
from kubesim.cluster.remote.transport import METADATA_LIST_ONLY, Call, Transport, read_all
from kubesim.errors import TransportError

SHOWN = 3
LISTED = 5000
TIMEOUT_S = 5.0


async def near_nodes(transport: Transport, name: str) -> tuple[str, ...]:
    """The nodes with similar names, the most similar first; empty if listing nodes is forbidden."""
    call = Call("list", "/api/v1/nodes", {"limit": str(LISTED)}, accept=METADATA_LIST_ONLY, timeout_s=TIMEOUT_S)
    try:
        async with transport.open(call) as reply:
            body = await read_all(reply)
        names = [str(item["metadata"]["name"]) for item in decode_json(body)["items"]] if reply.status == 200 else []
    except (TransportError, ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(difflib.get_close_matches(name, names, n=SHOWN, cutoff=0.5))


def no_such_node(name: str, near: tuple[str, ...]) -> str:
    """The error text for a node that does not exist in the cluster."""
    hint = f"did you mean {' or '.join(near)}?" if near else "`kubectl get nodes` lists them"
    return f"--node {name}: the cluster has no such node; {hint}"

"""The names of a cluster's nodes, for the error about an unknown one."""

from __future__ import annotations

import difflib

from kubesim.cluster.remote.answers import decode_json
from kubesim.cluster.remote.transport import METADATA_LIST_ONLY, Call, Transport, read_all
from kubesim.errors import TransportError

SHOWN = 3
LISTED = 5000
PATIENCE_S = 5.0


async def near_nodes(transport: Transport, name: str) -> tuple[str, ...]:
    """The nodes whose names are like this one, the likest first; empty if nodes may not be listed."""
    call = Call("list", "/api/v1/nodes", {"limit": str(LISTED)}, accept=METADATA_LIST_ONLY, patience_s=PATIENCE_S)
    try:
        async with transport.open(call) as reply:
            body = await read_all(reply)
        names = [str(item["metadata"]["name"]) for item in decode_json(body)["items"]] if reply.status == 200 else []
    except (TransportError, ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(difflib.get_close_matches(name, names, n=SHOWN, cutoff=0.5))


def no_such_node(name: str, near: tuple[str, ...]) -> str:
    """The words for a node that the cluster does not have."""
    hint = f"did you mean {' or '.join(near)}?" if near else "`kubectl get nodes` lists them"
    return f"--node {name}: the cluster has no such node; {hint}"

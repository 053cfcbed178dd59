"""No update to the API server is lost.

Each write replaces the newest state of its object, which its writer has read. A write that is based on an older state
would undo the changes in between; the API server rejects it (GuaranteedUpdate in etcd3/store.go).
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.cluster.store.watches import WatchEvent
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import StoreSeen


def stored(_: StoreSeen, newest: ApiObject | None, change: WatchEvent) -> str:
    previous = change.previous
    if previous is newest or newest is None:
        return ""  # the object is older than the run, so its newest state is unknown
    if previous is not None and previous.metadata.resource_version == newest.metadata.resource_version:
        return ""
    was = "no object" if previous is None else f"version {previous.metadata.resource_version}"
    metadata = change.object.metadata
    what = f"{change.object.kind} {metadata.namespace}/{metadata.name}"
    return f"a write of {what} is based on {was}, and undoes version {newest.metadata.resource_version}"


INVARIANT = Invariant("lost-updates", stored=stored)

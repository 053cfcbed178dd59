"""Resource versions increase: each change at the API server has a higher version than every change before it.

Watches, caches and optimistic concurrency rely on it (etcd's revision).
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.cluster.store.watches import WatchEvent
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import StoreSeen


def stored(seen: StoreSeen, _: ApiObject | None, change: WatchEvent) -> str:
    version = change.resource_version
    if version > seen.version and change.object.metadata.resource_version == str(version):
        return ""
    obj = change.object
    what = f"{obj.kind} {obj.metadata.namespace}/{obj.metadata.name}"
    return f"{what} got version {obj.metadata.resource_version} after version {seen.version}"


INVARIANT = Invariant("resource-versions", stored=stored)

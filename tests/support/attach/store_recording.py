"""Records every change in the store of a simulated cluster in the format of a recorded node."""

from __future__ import annotations

from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.attach.replay.recording import API_VERSIONS
from kubesim.cluster.store.watches import WatchEvent

Json = dict[str, Any]


class StoreRecording:
    """`lines` grow during the simulation; pods and Events of other nodes are excluded."""

    def __init__(self, simulation: Simulation) -> None:
        self._clock, self._store = simulation.clock, simulation.store
        self._node = next(iter(simulation.nodes))
        self.lines: list[Json] = [{"t": self._now(), "header": {"node": self._node, "secondsBetweenPolls": 0}}]
        for kind in API_VERSIONS:
            items = [obj.to_json() for obj in self._store.list(kind)]
            version = str(self._store.resource_version)
            listed = {"t": self._now(), "kind": kind, "type": "LIST", "resourceVersion": version}
            self.lines.append(listed | {"items": [item for item in items if self._is_mine(kind, item)]})
            self._store.watch(kind, self._changed)

    def _now(self) -> float:
        return round(self._clock.now() / SECOND, 3)

    def _changed(self, change: WatchEvent) -> None:
        obj = change.object.to_json()
        kind = str(obj["kind"])
        if self._is_mine(kind, obj):
            self.lines.append({"t": self._now(), "kind": kind, "type": change.type, "object": obj})

    def _is_mine(self, kind: str, obj: Json) -> bool:
        if kind == "Pod":
            return bool(obj["spec"].get("nodeName") == self._node)
        if kind == "Event":
            return bool(obj.get("source", {}).get("host", self._node) in ("", self._node))
        return bool(obj["metadata"]["name"] == self._node)

    def ended(self) -> list[Json]:
        return [*self.lines, {"t": self._now(), "action": "end"}]

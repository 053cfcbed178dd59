"""The history of a run: changes of objects, and output of containers.

A history is filled during a run, or from the lines of a saved one. `ClusterMoment` (moment.py) queries it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kubesim.cluster.saved.lines import RunHeader
from kubesim.trace.records import CriCall, LogOutput, Record

JsonObject = dict[str, Any]


class ObjectChange(NamedTuple):
    """A change of an object. `t` is microseconds since the start."""

    t: int
    type: str
    object: JsonObject


class OutputLine(NamedTuple):
    t: int
    stream: str
    text: str


class RunHistory:
    """The history. `end` is the time of the last change or record; `is_whole` is False if the run was cut off."""

    def __init__(self, header: RunHeader) -> None:
        self.header = header
        self.changes: list[ObjectChange] = []
        self.output: dict[str, list[OutputLine]] = {}  # by container id
        self.end = 0
        self.is_whole = False
        self._running: dict[tuple[str, str], str] = {}  # (pod, container) -> id of the last started container

    def change(self, change: ObjectChange) -> None:
        self.changes.append(change)
        self.end = max(self.end, change.t)

    def record(self, record: Record) -> None:
        """Add a record of the trace. Only container output is kept."""
        self.end = max(self.end, record.t)
        if isinstance(record, LogOutput):
            id = self._running.get((record.pod, record.container), "")
            self.output.setdefault(id, []).append(OutputLine(record.t, record.stream, record.text))
        elif isinstance(record, CriCall) and record.call == "StartContainer":
            self._running[record.pod, record.container] = str(record.args.get("id", ""))

    def ended(self, t: int) -> None:
        self.end, self.is_whole = max(self.end, t), True

    def objects_at(self, t: int) -> Iterable[JsonObject]:
        """All objects at this time, including changes at exactly this time."""
        objects: dict[tuple[str, str, str, str], JsonObject] = {}
        for change in self.changes:
            if change.t > t:
                break
            metadata = change.object["metadata"]
            api_version, kind = change.object["apiVersion"], change.object["kind"]
            key = (api_version, kind, metadata.get("namespace", ""), metadata["name"])
            if change.type == "DELETED":
                objects.pop(key, None)
            else:
                objects[key] = change.object
        return objects.values()

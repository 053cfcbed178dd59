"""The state of a pod after each record, as facts with a name and a text: its worker, sandboxes, containers, calls in
progress, probes, and the status that the kubelet wrote. Only changes are stored.

`Picture` (trace/stepping/state.py) derives the state from the records; there is one for each pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.golang.text import duration
from kubesim.trace import records as r
from kubesim.trace.lanes.bands import container_band
from kubesim.trace.pod_nodes import PodNodes
from kubesim.trace.stepping.state import Picture
from kubesim.values import value_object

_UNCHANGING = (r.EventRecorded, r.LogOutput, r.Actions, r.PlegEvent, r.StatusSet, r.SourceSnapshot, r.ConfigUpdate)
_KINDS = ("initContainers", "containers", "ephemeralContainers")
SHORT_ID = 12


@value_object
class FactChange:
    """A change of a fact; `text` is empty if the fact no longer applies."""

    seq: int
    name: str
    text: str


class FactSink:
    """A sink; `changes` has the changes by pod, those of a node under the empty name."""

    def __init__(self) -> None:
        self.changes: dict[str, list[FactChange]] = {}
        self._pictures: dict[str, Picture] = {}
        self._known: dict[str, dict[str, str]] = {}
        self._nodes = PodNodes()

    def record(self, record: r.Record) -> None:
        node = self._nodes.node_of(record)
        if isinstance(record, r.Note) and record.ends_kubelet:
            for pod, picture in self._pictures.items():
                if pod and picture.nodes.get(pod, node) == node:
                    self._take(pod, picture, record)
        if isinstance(record, _UNCHANGING) or (isinstance(record, r.CriCall | r.CriReturn) and _is_probe(record)):
            return
        if record.pod not in self._pictures:
            self._pictures[record.pod] = Picture()
        self._take(record.pod, self._pictures[record.pod], record)

    def _take(self, pod: str, picture: Picture, record: r.Record) -> None:
        picture.take(record)
        before, after = self._known.get(pod, {}), dict(_facts(picture) if pod else _node_facts(picture))
        self._known[pod] = after
        changes = [FactChange(record.seq, name, text) for name, text in after.items() if before.get(name) != text]
        changes += [FactChange(record.seq, name, "") for name in before if name not in after]
        if changes:
            self.changes.setdefault(pod, []).extend(changes)


def _is_probe(record: r.CriCall | r.CriReturn) -> bool:
    return record.call == "ExecSync"


def _facts(picture: Picture) -> Iterator[tuple[str, str]]:
    for worker in picture.workers.values():
        words = [worker.state]
        words += [f"in {worker.sync}"] if worker.sync else []
        words += [f"update {worker.pending} waits"] if worker.pending else []
        words += [f"failed: {worker.error}"] if worker.error else []
        words += [f"due at {duration(worker.due)}"] if worker.due is not None else []
        yield "pod worker", ", ".join(words)
    for sandbox in picture.sandboxes.values():
        words = [sandbox.state, f"attempt {sandbox.attempt}", sandbox.ip]
        yield f"sandbox {sandbox.id[:SHORT_ID]}", ", ".join(filter(None, words))
    for container in picture.containers.values():
        exit = f", exit code {container.exit}" if container.exit else ""
        yield f"runtime: {container.name} #{container.attempt}", f"{container.state}{exit}"
    for call in picture.calls.values():
        yield f"call {call.call} {call.container}".rstrip(), "in progress"
    for (_, name, probe), result in picture.probes.items():
        yield f"{probe} probe of {name}", result
    for summary in picture.statuses.values():
        yield from _status_facts(summary)


def _status_facts(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("phase", "reason", "podIP"):
        if summary.get(name):
            yield f"status: {name}", str(summary[name])
    for kind in _KINDS:
        for name, state in summary.get(kind, {}).items():
            yield f"status: container {name}", container_band(state)[0]
    for name, value in summary.get("conditions", {}).items():
        yield f"status: {name}", str(value)


def _node_facts(picture: Picture) -> Iterator[tuple[str, str]]:
    if picture.loop.channel:
        handler = f", {picture.loop.handler}" if picture.loop.handler else ""
        yield "sync loop", f"channel {picture.loop.channel}{handler}"
    for node, summary in picture.node.items():
        for name, value in summary.items():
            yield f"{node}: {name}", str(value)
    for node, text in picture.notes.items():
        yield f"{node}: note", text

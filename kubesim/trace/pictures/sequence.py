"""The calls and messages about a pod as a Mermaid sequence diagram: the user, the API server, the parts of the kubelet,
the container runtime and the CNI plugins.

It omits syncs without work, repetitions and the output of containers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from kubesim.golang.text import duration
from kubesim.trace import records as r
from kubesim.trace.pictures.mermaid import block, words
from kubesim.trace.sinks.changes import status_changes
from kubesim.trace.sinks.phrases import decision, phrase
from kubesim.values import mutable

MOST_LINES = 250  # of a diagram: Mermaid refuses more than 50,000 characters
PARTS = {
    "user": "user", "api": "API server", "syncloop": "sync loop", "worker": "pod worker", "status": "status manager",
    "runtime": "container runtime", "cni": "CNI plugins", "pleg": "PLEG", "prober": "prober",
}  # fmt: skip


@mutable
class _Diagram:
    lines: list[str] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    pending: list[str] = field(default_factory=list)  # the beginning of a sync without an effect so far
    left_out: int = 0
    status: Mapping[str, Any] | None = None

    def say(self, sender: str, receiver: str, content: str, arrow: str = "->>") -> None:
        self._add(f"    {sender}{arrow}{receiver}: {words(content)}", sender, receiver)

    def note(self, part: str, content: str) -> None:
        self._add(f"    Note over {part}: {words(content, 240)}", part)

    def _add(self, line: str, *parts: str) -> None:
        pending, self.pending = self.pending, []
        for each in (*pending, line):
            if len(self.lines) < MOST_LINES:
                self.lines.append(each)
            else:
                self.left_out += 1
        self.parts.update(parts)


class SequenceSink:
    """A sink; `diagrams` returns the lines of one diagram for each pod."""

    def __init__(self) -> None:
        self._pods: dict[str, _Diagram] = {}
        self._calls: dict[int, int] = {}  # the time at which each call in progress began

    def record(self, record: r.Record) -> None:
        handle = _SHOWN.get(type(record))
        if handle is None:
            return
        pods = record.pods if isinstance(record, r.ConfigUpdate) else (record.pod,) if record.pod else ()
        for pod in pods:
            diagram = self._pods.get(pod)
            if diagram is None:
                diagram = self._pods[pod] = _Diagram()
            handle(self, diagram, record)

    def diagrams(self) -> dict[str, list[str]]:
        return {pod: _text(pod, diagram) for pod, diagram in self._pods.items() if diagram.lines}

    # -- one method for each kind of record ------------------------------------------------------------------------

    def _write(self, diagram: _Diagram, record: r.ApiWrite) -> None:
        if record.is_pod_status:
            changes = status_changes(diagram.status, record.summary)
            diagram.status = record.summary
            diagram.say("status", "api", f"{record.verb} pods/status: {', '.join(changes) or 'times and messages'}")
        elif record.by == "kubelet":
            diagram.say("status", "api", f"{record.verb} {record.resource}")
        else:
            diagram.say("user", "api", f"{record.verb} {record.resource} (by {record.by or 'a client'})")

    def _config(self, diagram: _Diagram, record: r.ConfigUpdate) -> None:
        if record.op != "RECONCILE":  # only echoes the kubelet's own write
            diagram.say(
                "api" if record.source == "api" else "user", "syncloop", f"{record.op} from source {record.source}"
            )

    def _update(self, diagram: _Diagram, record: r.WorkerUpdate) -> None:
        if not record.why.startswith("ignored") and record.update != "sync":
            diagram.say("syncloop", "worker", f"UpdatePod({record.update})")

    def _begin(self, diagram: _Diagram, record: r.SyncBegin) -> None:
        diagram.pending = [f"    worker->>worker: {words(record.sync)}"]
        diagram.parts.add("worker")

    def _end(self, diagram: _Diagram, record: r.SyncEnd) -> None:
        diagram.pending = []
        if record.error:
            diagram.say("worker", "worker", phrase(record).text, "--x")

    def _actions(self, diagram: _Diagram, record: r.Actions) -> None:
        if record.decision:
            diagram.note("worker", f"{decision(record.decision)}: {record.why}")

    def _call(self, diagram: _Diagram, record: r.CriCall) -> None:
        self._calls[record.seq] = record.t
        if record.call != "ExecSync":
            diagram.say("worker", "runtime", _about(record, phrase(record).text))

    def _returned(self, diagram: _Diagram, record: r.CriReturn) -> None:
        took = duration(record.t - self._calls.pop(record.cause or 0, record.t))
        if record.error:
            diagram.say("runtime", "worker", f"{record.call} failed after {took}: {record.error}", "--x")
        elif record.call != "ExecSync":
            diagram.say("runtime", "worker", _about(record, f"{record.call} returned after {took}"), "-->>")

    def _state(self, diagram: _Diagram, record: r.WorkerState) -> None:
        diagram.say("worker", "worker", f"now {record.state}")

    def _cni(self, diagram: _Diagram, record: r.CniExec) -> None:
        diagram.say("runtime", "cni", phrase(record).text, "-x" if record.error else "->>")

    def _pleg(self, diagram: _Diagram, record: r.PlegEvent) -> None:
        diagram.say("pleg", "syncloop", f"{record.type} of {record.container or 'the sandbox'}")

    def _probe(self, diagram: _Diagram, record: r.ProbeOutcome) -> None:
        diagram.say("prober", "syncloop", _about(record, phrase(record).text))

    def _event(self, diagram: _Diagram, record: r.EventRecorded) -> None:
        diagram.say("worker", "api", f"Event {record.type} {record.reason}: {record.message}", "-)")

    def _note(self, diagram: _Diagram, record: r.Note) -> None:
        diagram.note("runtime", record.text)

    def _fault(self, diagram: _Diagram, record: r.Fault) -> None:
        diagram.note("runtime", f"fault: {record.fault}")


def _about(record: r.Record, content: str) -> str:
    return f"{content} ({record.container})" if record.container else content


def _text(pod: str, diagram: _Diagram) -> list[str]:
    participants = [f"    {'actor' if part == 'user' else 'participant'} {part} as {name}"
              for part, name in PARTS.items() if part in diagram.parts]  # fmt: skip
    rest = f"    Note over {next(part for part in PARTS if part in diagram.parts)}: {diagram.left_out} more lines"
    return ["sequenceDiagram", *participants, *diagram.lines, *([rest] if diagram.left_out else [])]


def as_markdown(diagrams: Mapping[str, list[str]]) -> str:
    """Markdown with a heading and a diagram for each pod."""
    lines: list[str] = []
    for pod, diagram in diagrams.items():
        lines += [f"## Pod {pod.removeprefix('default/')}", "", *block(diagram), ""]
    return "\n".join(lines)


_SHOWN: dict[type[r.Record], Callable[[SequenceSink, _Diagram, Any], None]] = {
    r.ApiWrite: SequenceSink._write,
    r.ConfigUpdate: SequenceSink._config,
    r.WorkerUpdate: SequenceSink._update,
    r.SyncBegin: SequenceSink._begin,
    r.SyncEnd: SequenceSink._end,
    r.Actions: SequenceSink._actions,
    r.CriCall: SequenceSink._call,
    r.CriReturn: SequenceSink._returned,
    r.WorkerState: SequenceSink._state,
    r.CniExec: SequenceSink._cni,
    r.PlegEvent: SequenceSink._pleg,
    r.ProbeOutcome: SequenceSink._probe,
    r.EventRecorded: SequenceSink._event,
    r.Note: SequenceSink._note,
    r.Fault: SequenceSink._fault,
}

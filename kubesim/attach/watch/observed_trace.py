"""The findings of a watch-only agent as records of a trace: statuses, Events, statements about each pod, predictions
and divergences. The stepper shows them like a run, without the state that only the kubelet itself knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, TypeVar

from kubesim.api.event import Event
from kubesim.attach.explain.page import window_text
from kubesim.attach.explain.statement import Statement
from kubesim.attach.shadow.changes import ObservedChange
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.shadow.shadow import ShadowReport, Tracked
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.kubelet.status.summary import status_summary
from kubesim.trace.records import ApiWrite, EventRecorded, Expectation, Note, Record
from kubesim.values import mutable

_OF_CONTAINER = "{"  # a field path is spec.containers{main}
RecordT = TypeVar("RecordT", bound=Record)


@mutable
class _Seen:
    """The state of one pod that the trace already has."""

    name: str
    summary: dict[str, Any] = field(default_factory=dict)
    said: str = ""
    events: dict[tuple[str, str, str], int] = field(default_factory=dict)  # the last count of each Event


class ObservedTrace:
    """A `Viewer` that appends to `records`. The first record names the watched node."""

    def __init__(self, node: str, now: Callable[[], int]) -> None:
        self.records: list[Record] = []
        self._node = node
        self._now = now
        self._begin = now()
        self._follower: NodeFollower | None = None
        self._seen: dict[str, _Seen] = {}
        self._put(Note(node=node, text=f"the watch of {node} begins: its pods, Events, Lease and Node"))

    def follow(self, follower: NodeFollower) -> None:
        """Set the follower that this viewer belongs to."""
        self._follower = follower

    # -- Viewer -------------------------------------------------------------------------------------------------

    def reported(self, report: ShadowReport) -> None:
        statement = report.statement
        if statement is None:
            self._removed()
            return
        tracked = self._pods.get(statement.uid)
        if tracked is None:
            return
        about: dict[str, Any] = {
            "node": self._node, "pod": f"{statement.namespace}/{statement.name}", "uid": statement.uid,
        }  # fmt: skip
        seen = self._seen.setdefault(statement.uid, _Seen(about["pod"]))
        for key, event in tracked.events.items():
            self._event(seen, key, event, about)
        has_status = statement.stage not in ("unscheduled", "new")  # before that the kubelet has not written a status
        cause = self._status(seen, tracked, report.changes, about) if has_status else None
        self._statement(seen, statement, cause, about)
        for verdict in report.verdicts:
            prediction = verdict.prediction
            expected = f"{prediction.what} {window_text(prediction.window, prediction.made_at)}".rstrip()
            is_kept = verdict.outcome == "kept"
            own = Expectation(**about, container=prediction.container, expectation=expected, met=is_kept)
            own.why, own.cause = f"prediction {verdict.outcome}; {prediction.because}", cause
            self._put(own)

    def diverged(self, divergence: Divergence) -> None:
        pod = f"{divergence.namespace}/{divergence.name}"
        text = f"Warning: diverges from the rules ({divergence.kind}): {divergence.says}"
        self._put(Note(node=self._node, pod=pod, uid=divergence.uid, text=text, why=divergence.rule))

    def problem(self, text: str) -> None:
        self._put(Note(node=self._node, text=f"Warning: {text}"))

    # -- records ------------------------------------------------------------------------------------------------

    @property
    def _pods(self) -> dict[str, Tracked]:
        assert self._follower is not None
        return self._follower.shadow.pods

    def _put(self, record: RecordT) -> RecordT:
        record.seq, record.t = len(self.records) + 1, max(0, self._now() - self._begin)
        self.records.append(record)
        return record

    def _event(self, seen: _Seen, key: tuple[str, str, str], event: Event, about: dict[str, Any]) -> None:
        count = event.count or 1
        if seen.events.get(key, 0) >= count:
            return
        seen.events[key] = count
        path = event.involved_object.field_path
        container = path.partition(_OF_CONTAINER)[2].rstrip("}")
        often = f" (x{count})" if count > 1 else ""
        message = event.message + often
        self._put(
            EventRecorded(
                **about, container=container, type=event.type, reason=event.reason, message=message, field_path=path
            )
        )

    def _status(
        self, seen: _Seen, tracked: Tracked, changes: tuple[ObservedChange, ...], about: dict[str, Any]
    ) -> int | None:
        """The number of the record of a new status; None if the status is unchanged."""
        summary = status_summary(tracked.pod.status)
        if summary == seen.summary:
            return None
        first, seen.summary = not seen.summary, summary
        why = "; ".join(" ".join(filter(None, (each.kind, each.container, each.detail))) for each in changes)
        why = why or ("the pod is on the node when it is first seen" if first else "")
        write = ApiWrite(**about, verb="patch", resource="pods/status", by="kubelet", summary=summary, why=why)
        return self._put(write).seq

    def _statement(self, seen: _Seen, statement: Statement, cause: int | None, about: dict[str, Any]) -> None:
        first = statement.causes[0]
        said = f"{statement.stage}: {first.says}"
        if said == seen.said:
            return
        seen.said = said
        nexts = [f"{each.what} {window_text(each.window, statement.as_of)}".rstrip() for each in statement.steps[:2]]
        why = "; ".join([f"{first.rule} [{first.ref}]", *(f"next: {text}" for text in nexts)])
        note = Note(**about, container=first.container, text=said, why=why)
        note.cause = cause
        self._put(note)

    def _removed(self) -> None:
        for uid in [uid for uid in self._seen if uid not in self._pods]:
            pod = self._seen.pop(uid).name
            self._put(ApiWrite(node=self._node, pod=pod, uid=uid, verb="delete", resource="pods", by="kubelet"))

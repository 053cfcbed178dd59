"""Occurrences that are counted: Events, log lines and calls."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.event import Event
from kubesim.scenario.expecting.answers import times
from kubesim.scenario.language.expect_items import ObjectQuestion
from kubesim.trace.records import ApiWrite, CniExec, CriCall, LogOutput, Record

CNI, API = "cni ", "api "  # prefixes of calls; a call to the runtime has none


def times_emitted(event: Event) -> int:
    """How often an Event was emitted. The scheduler's Events have no count, and a series only after a repetition."""
    return event.count or (event.series or {}).get("count", 1)


def event_fits(question: ObjectQuestion, event: Event) -> bool:
    if event.reason != question.event or (question.message is not None and not question.message.fits(event.message)):
        return False
    return not question.container or event.involved_object.field_path.endswith(f"{{{question.container}}}")


def record_fits(question: ObjectQuestion, record: Record) -> bool:
    """Whether a record is the log line or the call of a question; the caller checks its pod."""
    if question.container not in ("", record.container):
        return False
    if question.log is not None:
        return isinstance(record, LogOutput) and question.log.fits(record.text)
    return question.call == call_of(record)


def call_of(record: Record) -> str:
    """The name of a recorded call: `RunPodSandbox`, `cni ADD`, `api patch pods/status`; empty for other records."""
    read = _CALLS.get(type(record))
    return "" if read is None else read(record)


_CALLS: dict[type[Record], Callable[[Record], str]] = {
    CriCall: lambda record: record.call,  # type: ignore[attr-defined]
    CniExec: lambda record: CNI + record.command,  # type: ignore[attr-defined]
    ApiWrite: lambda record: f"{API}{record.verb} {record.resource}",  # type: ignore[attr-defined]
}


def in_words(question: ObjectQuestion, number: int) -> str:
    if question.event is not None:
        return f"the Event was {'not emitted' if not number else f'emitted {times(number)}'}"
    if question.log is not None:
        return "no such line was written" if not number else f"such a line was written {times(number)}"
    return f"the call was {'not made' if not number else f'made {times(number)}'}"

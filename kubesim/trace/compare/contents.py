"""The content of records that comparisons use.

Runs with the same seed agree in every time and name until something differs, so all fields of a record count (`exact`),
except its number, the number of its cause and values from outside the simulation.

A run with another seed has other times and names, and another order of concurrent actions. Then only what happens to
each pod counts (`outlines`): decisions, calls, Events, phases, container states and probe results, each kind in its own
order, without ids, addresses and durations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any

from kubesim.trace import records as r

Key = tuple[str, ...]
Content = tuple[Any, ...]
Streams = dict[Key, list[tuple[Content, r.Record]]]  # the records of each subject, in order

_DRAWN = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # uids
    r"|\b[0-9a-f]{12,}\b"  # ids
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,}"  # addresses
    r"|\b(?:\d+(?:\.\d+)?(?:h|ms|m|µs|s))+\b"  # durations
)


def exact_streams(records: Iterable[r.Record]) -> Streams:
    """The content of all records by pod; for records without a pod, by node."""
    streams: Streams = {}
    for record in records:
        key = ("pod", record.pod) if record.pod else ("node", record.node)
        streams.setdefault(key, []).append(((record.KIND, *_READERS[type(record)](record)), record))
    return streams


def _reader(kind: type[r.Record]) -> attrgetter[tuple[Any, ...]]:
    own = {"seq", "cause", *kind.EXTERNAL}
    return attrgetter(*(each.name for each in fields(kind) if each.name not in own))


_READERS = {kind: _reader(kind) for kind in r.KINDS}


def outline_streams(records: Iterable[r.Record], names: dict[str, str]) -> Streams:
    """The content of records by pod and subject. `names` maps pods to the same pods in the other trace. Repetitions
    count once.
    """
    streams: Streams = {}
    for record in records:
        for key, content in _outline(record):
            pod = names.get(record.pod, record.pod)
            entries = streams.setdefault(("pod", pod, *key), [])
            masked = tuple(_masked(each, record.pod, pod) for each in content)
            if not entries or entries[-1][0] != masked:
                entries.append((masked, record))
    return streams


def _outline(record: r.Record) -> Iterator[tuple[Key, Content]]:
    """The keys under which a record counts, with the content for each."""
    if not record.pod:
        return
    if isinstance(record, r.Actions) and record.decision:
        yield ("decision",), (record.decision,)
    elif isinstance(record, r.CriCall) and record.call not in ("ExecSync", "PullImage"):
        yield ("call",), (record.call, record.container)
    elif isinstance(record, r.EventRecorded):
        yield ("event", record.container), (record.type, record.reason, record.message)
    elif isinstance(record, r.ProbeOutcome):
        yield ("probe", record.container, record.probe), (record.result,)
    elif isinstance(record, r.WorkerState):
        yield ("worker",), (record.state,)
    elif isinstance(record, r.ApiWrite) and record.is_pod_status:
        yield ("phase",), (record.summary.get("phase"), record.summary.get("reason"))
        for kind in ("initContainers", "containers", "ephemeralContainers"):
            for name, state in record.summary.get(kind, {}).items():
                yield ("state", name), (state.get("state"), state.get("restartCount"))


def _masked(value: Any, own: str, other: str) -> Any:
    if isinstance(value, str):
        text = value if own == other else value.replace(own.rpartition("/")[2], other.rpartition("/")[2])
        return _DRAWN.sub("<drawn>", text)
    if isinstance(value, dict):
        return {key: _masked(each, own, other) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(each, own, other) for each in value]
    return value

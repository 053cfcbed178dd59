"""Summaries of what a trace records about each pod, and the pairs of equal pods in two traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from kubesim.trace import records as r
from kubesim.values import mutable

_ENDED = ("Succeeded", "Failed")


@mutable
class PodLife:
    """The summary of a pod. Times are microseconds since the start; None: it did not happen."""

    restarts: dict[str, int] = field(default_factory=dict)  # by container
    phase: str = ""  # the last reported phase, with its reason: `Failed/Evicted`
    ready: int | None = None  # when the pod was first ready
    ended: int | None = None
    gone: int | None = None  # when the kubelet deleted the pod after it had finished
    events: Counter[str] = field(default_factory=Counter)  # by reason

    @property
    def restart_count(self) -> int:
        return sum(self.restarts.values())


def pod_lives(records: Iterable[r.Record]) -> dict[str, PodLife]:
    """The summaries by namespace and name, in the order in which the pods appear."""
    lives: dict[str, PodLife] = {}
    for record in records:
        if not record.pod:
            continue
        life = lives.setdefault(record.pod, PodLife())
        if isinstance(record, r.EventRecorded):
            life.events[record.reason] += 1
        elif isinstance(record, r.ApiWrite) and record.is_pod_status:
            _take_status(life, record)
        elif isinstance(record, r.ApiWrite) and (record.verb, record.resource) == ("delete", "pods"):
            life.gone = record.t if record.by == "kubelet" else life.gone
    return lives


def _take_status(life: PodLife, record: r.ApiWrite) -> None:
    summary = record.summary
    life.phase = "/".join(filter(None, (summary.get("phase", ""), summary.get("reason", ""))))
    if summary.get("conditions", {}).get("Ready") == "True" and life.ready is None:
        life.ready = record.t
    if summary.get("phase") in _ENDED and life.ended is None:
        life.ended = record.t
    for kind in ("initContainers", "containers"):
        for name, state in summary.get(kind, {}).items():
            life.restarts[name] = max(life.restarts.get(name, 0), state["restartCount"])


def paired_pods(left: Sequence[str], right: Sequence[str]) -> dict[str, str]:
    """The name on the left for each pod on the right. Controllers generate the last part of a name: pods that exist
    only on one side are paired in order if the rest of their names is equal.
    """
    pairs = {name: name for name in right if name in left}
    free: dict[str, list[str]] = {}
    for name in left:
        if name not in pairs:
            free.setdefault(name.rpartition("-")[0], []).append(name)
    for name in right:
        same = free.get(name.rpartition("-")[0]) if name not in pairs and "-" in name else None
        if same:
            pairs[name] = same.pop(0)
    return pairs

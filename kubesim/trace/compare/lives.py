"""What a trace says of each pod, in a few facts, and which pods of two traces are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from kubesim.trace import records as r
from kubesim.values import mutable

_ENDED = ("Succeeded", "Failed")


@mutable
class PodLife:
    """Times are microseconds since the start; None: it did not come to that."""

    restarts: dict[str, int] = field(default_factory=dict)  # by container
    phase: str = ""  # the last one that was reported, with its reason: `Failed/Evicted`
    ready: int | None = None  # for the first time
    ended: int | None = None
    gone: int | None = None  # deleted by the kubelet, which has finished with it
    events: Counter[str] = field(default_factory=Counter)  # by reason

    @property
    def restart_count(self) -> int:
        return sum(self.restarts.values())


def pod_lives(records: Iterable[r.Record]) -> dict[str, PodLife]:
    """By namespace and name, in the order in which the pods appear."""
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
    """The name on the left of each pod on the right. Controllers draw the last part of a name: pods that are only on
    one side are the same if the rest of their names is, the first with the first."""
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

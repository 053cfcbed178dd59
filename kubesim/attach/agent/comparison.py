"""Compares every live pod with the agent's pod at each change of either, and records when they began to differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.api.pod import Pod
from kubesim.attach.agent.verdict import SAME, PodVerdict, Restarts, compare
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.trace import Recorder
from kubesim.values import mutable

KEPT = 1000  # certain differences of deleted pods


@mutable
class Compared:
    """The comparison of one pod. `record` is the number of the last trace record when the two began to differ, `t` its
    time."""

    pod: str
    verdict: PodVerdict
    record: int = 0
    t: int = 0

    def to_json(self) -> dict[str, Any]:
        since = {} if self.verdict == SAME else {"record": self.record, "t": self.t / 1_000_000}
        return {"pod": self.pod, **self.verdict.to_json(), **since}


class Comparison:
    """A `PodFollower`; `attach` connects it to the agent."""

    def __init__(self) -> None:
        self.pods: dict[str, Compared] = {}  # by uid
        self.gone: dict[str, Compared] = {}  # deleted pods with a certain difference, by uid
        self._real: dict[str, Pod] = {}
        self._before: dict[str, Restarts] = {}
        self._store: Store | None = None
        self._recorder: Recorder | None = None

    def attach(self, store: Store, recorder: Recorder, elapsed: Callable[[], int]) -> None:
        self._store, self._recorder, self._elapsed = store, recorder, elapsed
        store.watch("Pod", self._ours_changed)

    def pod_updated(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        self._real[uid] = pod
        if uid not in self._before:
            statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
            self._before[uid] = {status.name: status.restart_count for status in statuses}
            return  # the agent gets the pod only after this call
        self._compare(uid)

    def pod_removed(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        self._real.pop(uid, None)
        self._before.pop(uid, None)
        compared = self.pods.pop(uid, None)
        if compared is not None and compared.verdict.certain and len(self.gone) < KEPT:
            self.gone[uid] = compared

    def _ours_changed(self, event: WatchEvent) -> None:
        if event.object.metadata.uid in self._real:
            self._compare(event.object.metadata.uid)

    def _compare(self, uid: str) -> None:
        assert self._store is not None
        assert self._recorder is not None
        real = self._real[uid]
        meta = real.metadata
        ours = self._store.find("Pod", meta.namespace, meta.name)
        verdict = compare(real, ours if isinstance(ours, Pod) else None, self._before[uid])
        known = self.pods.get(uid)
        if known is None:
            known = self.pods[uid] = Compared(f"{meta.namespace}/{meta.name}", SAME)
        if known.verdict.relation != verdict.relation:
            known.record, known.t = self._recorder.count, self._elapsed()
        known.verdict = verdict

    # -- output -------------------------------------------------------------------------------------------------

    def rows(self) -> list[Compared]:
        return sorted((*self.pods.values(), *self.gone.values()), key=lambda compared: compared.pod)

    @property
    def certain(self) -> int:
        return sum(compared.verdict.certain for compared in self.rows())

    @property
    def settled(self) -> bool:
        return all(compared.verdict == SAME for compared in self.pods.values())

    def counts(self) -> dict[str, int]:
        counts = dict.fromkeys(("same", "ahead", "behind", "different"), 0)
        for compared in self.rows():
            counts[compared.verdict.relation] += 1
        return counts

    def to_json(self) -> dict[str, Any]:
        return {"pods": [row.to_json() for row in self.rows()], **self.counts(), "certain": self.certain}

    def lines(self) -> list[str]:
        """The comparison as text: each pod, then the number of pods in each state."""
        rows = self.rows()
        width = max((len(row.pod) for row in rows), default=0)
        lines = [f"{row.pod:<{width}}  {_words(row)}".rstrip() for row in rows]
        counted = ", ".join(f"{count} {relation}" for relation, count in self.counts().items())
        return [*lines, f"real against agent, {len(rows)} pods: {counted}; {self.certain} certain"]


def _words(row: Compared) -> str:
    verdict = row.verdict
    if verdict == SAME:
        return "same"
    since = f"since {row.t / 1_000_000:.3f} s, record {row.record}"
    sure = ", certain" if verdict.certain else ""
    return f"{verdict.relation}{sure} ({verdict.rule}): {verdict.detail}; {since}"

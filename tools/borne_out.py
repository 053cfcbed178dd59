"""How often the real kubelet did what `explain` predicted: `python -m tools.borne_out`.

Every status of every recorded story is explained twice: by itself, as from `kubectl get pod -o json`, and as by a
watcher, with the Events so far. The explanation is compared with the next different status.

* as said: it is a step that the statement announces as certain, within its window if it has one;
* as possible: it is one of the steps that the statement names as possible; or, where the statement says that nothing is
  due unless a client acts, a client acted;
* overtaken: an action from outside (a deletion, a patch, the scheduler) preceded the step;
* wrong: everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from kubesim.api.event import Event
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.explain import explain
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.statement import NextStep, Statement
from kubesim.attach.shadow.changes import OUTSIDE, ObservedChange, changes
from kubesim.attach.shadow.shadow import Shadow
from tests.support.attach.story_stream import STORIES, story, stream

Bearing = Literal["as said", "as possible", "overtaken", "wrong"]
EARLY, LATE = 1 * SECOND, 5 * SECOND


def bearing(statement: Statement, found: Sequence[ObservedChange]) -> Bearing:
    matching = [(step, change) for step in statement.steps for change in found if _is_about(step, change)]
    in_time = [step for step, change in matching if _in_time(step, change)]
    if in_time:
        return "as said" if any(step.certain for step in in_time) else "as possible"
    if any(change.kind in OUTSIDE for change in found):
        return "overtaken" if any(step.certain for step in statement.steps) else "as possible"
    return "wrong"


def _is_about(step: NextStep, change: ObservedChange) -> bool:
    return step.change == change.kind and step.container in ("", change.container)


def _in_time(step: NextStep, change: ObservedChange) -> bool:
    window = step.window
    if window is None:
        return True
    if window.earliest is not None and change.latest < window.earliest - EARLY:
        return False
    return window.latest is None or change.earliest <= window.latest + LATE


def verdicts(name: str) -> list[tuple[Bearing, Bearing, Statement, tuple[ObservedChange, ...]]]:
    """The verdict on each status with a successor: from the status alone, and with the watcher's knowledge."""
    shadow = Shadow()
    waiting: dict[str, tuple[Pod, int, Statement, Statement]] = {}
    out = []
    for observed in stream(story(name)):
        if isinstance(observed.object, Event):
            report = shadow.observe_event(observed.object, observed.now)
            reported = report.statement
            if reported is not None and reported.uid in waiting:
                pod, at, alone, _ = waiting[reported.uid]
                waiting[reported.uid] = (pod, at, alone, reported)
            continue
        pod, uid = observed.object, observed.object.metadata.uid
        gone = observed.kind == "removed"
        if uid in waiting:
            old, at, alone, watched = waiting[uid]
            found = changes(old, None if gone else pod, at, observed.now)
            if not found:
                shadow.observe_pod(pod, observed.now)
                continue
            out.append((bearing(alone, found), bearing(watched, found), watched, found))
        if gone:
            shadow.observe_removal(pod, observed.now)
            waiting.pop(uid, None)
            continue
        followed = shadow.observe_pod(pod, observed.now).statement
        assert followed is not None
        waiting[uid] = (pod, observed.now, explain(Observation(pod, observed.now)), followed)
    return out


def shares() -> tuple[Counter[str], Counter[str], list[str]]:
    """Totals of all stories: by status alone, by watching; and the wrong ones."""
    alone: Counter[str] = Counter()
    watched: Counter[str] = Counter()
    wrong = []
    for name in STORIES:
        for by_itself, by_watching, statement, found in verdicts(name):
            alone[by_itself] += 1
            watched[by_watching] += 1
            if "wrong" in (by_itself, by_watching):
                happened = ", ".join(f"{change.kind} {change.container}".strip() for change in found)
                wrong.append(f"{name}: alone {by_itself}, watched {by_watching}: {statement.summary} -> {happened}")
    return alone, watched, wrong


def table() -> str:
    """The table in docs/explain.md."""
    alone, watched, _ = shares()
    lines = [
        "| | statements | as said | as possible | overtaken | wrong | borne out |",
        "|---|---|---|---|---|---|---|",
    ]
    for label, counted in (("from one status alone", alone), ("watching, with Events", watched)):
        said, possible, overtaken, wrong = (counted[key] for key in ("as said", "as possible", "overtaken", "wrong"))
        share = 100 * (said + possible) / (said + possible + wrong)
        lines.append(f"| {label} | {counted.total()} | {said} | {possible} | {overtaken} | {wrong} | {share:.1f} % |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table())
    for line in shares()[2]:
        print(line)

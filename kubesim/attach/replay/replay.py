"""Replays a recording in virtual time for one follower, or for one at each interval, and counts their findings.

The follower is the one of `kubesim attach --node`, with the recording as its cluster and the recorded times as its
clock. If the recording itself stopped the kubelet, a delay is reported but not counted, because it really was late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from kubesim.api.timestamps import SECOND, format_micro_time
from kubesim.attach.explain.periods import DEFAULT_PERIODS, KubeletPeriods
from kubesim.attach.replay.recorded_server import RecordedServer
from kubesim.attach.replay.recording import NodeRecording
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.shadow.shadow import ShadowReport
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.attach.watch.observed_trace import ObservedTrace
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.golang.text import duration
from kubesim.trace.records import Record
from kubesim.values import value_object

FOLLOWER_DURATION = 120 * SECOND  # of a later follower, with `--every`
MIN_FOLLOWER_DURATION = 20 * SECOND
SEED = 1
EXCUSED = "the kubelet was stopped; not counted"


class ReplayListener(Protocol):
    """Receives the followers and their findings."""

    def follows(self, begin: int, end: int) -> None: ...
    def diverged(self, divergence: Divergence, excused: bool) -> None: ...
    def problem(self, text: str) -> None: ...


@value_object
class Visit:
    """When a follower starts and ends."""

    begin: int
    end: int


class Tally:
    """The findings of all followers. `outcomes` counts predictions by subject and outcome."""

    def __init__(self, recording: NodeRecording, listener: ReplayListener) -> None:
        self.divergences = 0
        self.statements = 0
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self._stopped = recording.stopped
        self._listener = listener

    @property
    def kept(self) -> int:
        return sum(count for (_, outcome), count in self.outcomes.items() if outcome == "kept")

    def reported(self, report: ShadowReport) -> None:
        self.statements += report.statement is not None

    def diverged(self, divergence: Divergence) -> None:
        late = divergence.kind in ("late", "lag")
        excused = late and any(begin <= divergence.at <= end for begin, end in self._stopped)
        self.divergences += not excused
        self._listener.diverged(divergence, excused)

    def problem(self, text: str) -> None:
        self._listener.problem(text)


def visits(recording: NodeRecording, late_by: int = 0, interval: int = 0) -> Iterator[Visit]:
    """The visits: the first follower stays to the end; with `interval`, others start later and stay for two minutes."""
    first = recording.begin + late_by
    yield Visit(first, recording.end)
    if interval:
        for begin in range(first + interval, recording.end - MIN_FOLLOWER_DURATION, interval):
            yield Visit(begin, min(recording.end, begin + FOLLOWER_DURATION))


def replay(
    recording: NodeRecording,
    listener: ReplayListener,
    late_by: int = 0,
    interval: int = 0,
    periods: KubeletPeriods = DEFAULT_PERIODS,
) -> Tally:
    tally = Tally(recording, listener)
    for visit in visits(recording, late_by, interval):
        listener.follows(visit.begin, visit.end)
        outcomes: dict[tuple[str, str], int] = run_virtual(_follow, recording, visit, tally, periods)
        tally.outcomes.update(outcomes)
    return tally


def observed(recording: NodeRecording, late_by: int = 0, periods: KubeletPeriods = DEFAULT_PERIODS) -> list[Record]:
    """The trace of the findings of a follower that runs until the end."""
    visit = Visit(recording.begin + late_by, recording.end)
    records: list[Record] = run_virtual(_observe, recording, visit, periods)
    return records


async def _observe(recording: NodeRecording, visit: Visit, periods: KubeletPeriods) -> list[Record]:
    clock = LoopClock(visit.begin)
    trace = ObservedTrace(recording.node, clock.now)
    server = RecordedServer(recording, clock, visit.begin)
    follower = NodeFollower(clock, server, recording.node, trace, periods=periods)
    trace.follow(follower)
    await _played(follower, server, visit)
    return trace.records


async def _follow(
    recording: NodeRecording, visit: Visit, tally: Tally, periods: KubeletPeriods
) -> dict[tuple[str, str], int]:
    clock = LoopClock(visit.begin)
    server = RecordedServer(recording, clock, visit.begin)
    follower = NodeFollower(clock, server, recording.node, tally, periods=periods)
    await _played(follower, server, visit)
    return {(due, outcome): count for (due, outcome), count in follower.shadow.outcomes.items()}


async def _played(follower: NodeFollower, server: RecordedServer, visit: Visit) -> None:
    async with TaskSet() as tasks:
        follower.start(tasks, Randomness(SEED))
        await tasks.run_until(server.play(visit.end))
    follower.settle()


def moment(at: int, recording: NodeRecording) -> str:
    """`12:00:10.123 (+1m5s)`: the time of day, and the time since the first lists."""
    away = (at - recording.begin) // (SECOND // 10) * (SECOND // 10)
    since = f"+{duration(away)}" if away >= 0 else f"-{duration(-away)}"
    return f"{format_micro_time(at)[11:23]} ({since})"


def divergence_line(divergence: Divergence, recording: NodeRecording, excused: bool) -> str:
    pod = f"{divergence.namespace}/{divergence.name}"
    note = f" [{EXCUSED}]" if excused else ""
    return f"{moment(divergence.at, recording)} {divergence.kind} {pod}: {divergence.says}{note}"


def predictions_table(tally: Tally) -> list[str]:
    """Kept and missed predictions by kind. Those that an intervention made void are not counted."""
    rows = [("PREDICTION", "KEPT", "MISSED", "")]
    kinds = sorted({due for due, _ in tally.outcomes})
    total_kept = total_missed = 0
    for due in kinds:
        kept = tally.outcomes[due, "kept"]
        missed = tally.outcomes[due, "early"] + tally.outcomes[due, "late"]
        total_kept, total_missed = total_kept + kept, total_missed + missed
        rows.append((due, str(kept), str(missed), _share(kept, missed)))
    rows.append(("all", str(total_kept), str(total_missed), _share(total_kept, total_missed)))
    width = max(len(row[0]) for row in rows)
    return [f"{name:<{width}}  {kept:>7}  {missed:>7}  {share:>8}".rstrip() for name, kept, missed, share in rows]


def _share(kept: int, missed: int) -> str:
    return f"{100 * kept / (kept + missed):.1f} %" if kept + missed else ""


def last_line(tally: Tally) -> str:
    return f"{tally.divergences} divergences, {tally.kept} predictions kept, {tally.statements} statements"

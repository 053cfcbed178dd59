"""The shadow: follows observed statuses and Events, predicts the next steps of every pod, and reports divergences.

It uses an observed status as the runtime's state, and decides with the functions that a run uses. Its state per pod is
small and is dropped with the pod: the last object, recent Events, the crash back-off of each container, open
predictions. It does no I/O; the time of each observation is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from kubesim.api.event import Event
from kubesim.api.meta import CONFIG_HASH
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import find_condition
from kubesim.api.timestamps import SECOND, format_micro_time
from kubesim.attach.explain.explain import explain
from kubesim.attach.explain.observation import Memory, Observation, event_count, event_time, moment
from kubesim.attach.explain.periods import DEFAULT_PERIODS, KubeletPeriods
from kubesim.attach.explain.runtime_truth import has_sandbox
from kubesim.attach.explain.statement import Fact, Stage, Statement, Window
from kubesim.attach.explain.timing import reported_wait
from kubesim.attach.explain.tolerances import CLOCK, REPORTING, TRUNCATION
from kubesim.attach.shadow.changes import OUTSIDE, ObservedChange, changes
from kubesim.attach.shadow.consistency import status_divergences
from kubesim.attach.shadow.crash_memory import CrashMemory
from kubesim.attach.shadow.divergence import Divergence, diverges
from kubesim.attach.shadow.predictions import (
    REPORTED_BY_EVENTS,
    Key,
    Outcome,
    Prediction,
    PredictionVerdict,
    divergence_of,
    judge_change,
    judge_event,
    predictions_of,
)
from kubesim.attach.shadow.probe_arithmetic import killed_too_early
from kubesim.attach.shadow.transitions import transition_divergences
from kubesim.cluster.store.object_watch import ObjectKey
from kubesim.golang.text import duration
from kubesim.kubelet.status.generate.conditions import conditions_by_kubelet
from kubesim.runtime.kuberuntime.decide.restart_policy import RESTART_ALL_CONTAINERS
from kubesim.values import mutable, replace, value_object

KEPT_EVENTS = 40  # for each pod; older ones explain nothing
# Emitted only at the start of a kubelet (kubelet.go BirthCry and initializeRuntimeDependentModules,
# cm/container_manager_linux.go). Any of them can be lost.
_KUBELET_STARTS = ("Starting", "NodeAllocatableEnforced", "CgroupV1")
_RETRIED = ("ErrImageNeverPull", "InspectFailed")


@value_object
class ShadowReport:
    """The results of one observation: the pod's statement, the verdicts on predictions, the divergences."""

    statement: Statement | None
    changes: tuple[ObservedChange, ...] = ()
    verdicts: tuple[PredictionVerdict, ...] = ()
    divergences: tuple[Divergence, ...] = ()


@mutable
class Tracked:
    """The state of one pod."""

    pod: Pod
    seen_at: int
    since: int
    events: dict[tuple[str, str, str], Event] = field(default_factory=dict)  # by path, reason and message
    exits_seen: dict[str, int] = field(default_factory=dict)
    open: dict[Key, Prediction] = field(default_factory=dict)
    stage: Stage = "new"  # at the last observation
    excused: bool = False  # the next change may have been missed for a while


class Shadow:
    """Tracks the pods of one node."""

    def __init__(self, periods: KubeletPeriods = DEFAULT_PERIODS) -> None:
        self.periods = periods
        self.pods: dict[str, Tracked] = {}  # by uid
        self.node: Node | None = None
        self.node_gone = False
        self.clock_known = True  # while False, times of the node are not compared with times here
        self.kubelet_since = 0  # when the kubelet started, if known
        self.objects: dict[ObjectKey, bool] = {}  # ConfigMaps and Secrets that were looked up
        self.outcomes: dict[tuple[str, Outcome], int] = {}
        self._crashes = CrashMemory(periods)
        self._uids: dict[tuple[str, str], str] = {}

    # -- observations -------------------------------------------------------------------------------------------

    def observe_pod(self, pod: Pod, now: int) -> ShadowReport:
        """Handle a pod that was added or modified, or is in a list."""
        uid = pod.metadata.uid
        tracked = self.pods.get(uid)
        self._uids[pod.metadata.namespace, pod.metadata.name] = uid
        if tracked is None:
            tracked = self.pods[uid] = Tracked(pod, now, now)
            found: tuple[ObservedChange, ...] = ()
            divergences = list(status_divergences(self._observation(tracked, now), None))
        else:
            old, before = tracked.pod, tracked.seen_at
            tracked.pod, tracked.seen_at = pod, now
            seen = self._observation(tracked, now)
            found = changes(old, pod, before, now)
            divergences = [
                *status_divergences(seen, old.status),
                *(() if tracked.excused else transition_divergences(seen, old, before)),
                *(_reported_at_wrong_time(seen, old, found, tracked.excused) if self.clock_known else ()),
            ]
            self._remember(tracked, old, found, now)
            divergences += _wrong_wait(self._observation(tracked, now))
        verdicts = self._settle(tracked, found, now)
        divergences += (divergence_of(v, pod, now) for v in verdicts if v.outcome in ("early", "late"))
        tracked.excused = False
        statement = explain(self._observation(tracked, now))
        tracked.stage = statement.stage
        self._expect(tracked, statement)
        return ShadowReport(statement, found, tuple(verdicts), () if _may_restart_all(pod) else tuple(divergences))

    def observe_removal(self, pod: Pod, now: int) -> ShadowReport:
        """Handle the removal of an object."""
        tracked = self.pods.pop(pod.metadata.uid, None)
        if tracked is None:
            return ShadowReport(None)
        meta = pod.metadata
        if self._uids.get((meta.namespace, meta.name)) == meta.uid:
            del self._uids[meta.namespace, meta.name]
        found = changes(tracked.pod, None, tracked.seen_at, now)
        verdicts = self._settle(tracked, found, now)
        self._crashes.forget(tracked.pod)
        reported = tuple(divergence_of(v, pod, now) for v in verdicts if v.outcome in ("early", "late"))
        return ShadowReport(None, found, tuple(verdicts), reported)

    def observe_event(self, event: Event, now: int, *, history: bool = False) -> ShadowReport:
        """Handle an Event that was emitted, or repeated. `history`: it is from a list and may be of any age."""
        about, at = event.involved_object, event_time(event) or now
        if about.kind == "Node" and event.reason in _KUBELET_STARTS and event.source.component in ("kubelet", ""):
            self.kubelet_started(at)
            return ShadowReport(None)
        tracked = self._tracked(event)
        if tracked is None:
            return ShadowReport(None)
        before = _keep(tracked, event)
        is_news = not history and not tracked.excused and self.clock_known and not _is_known(before, event)
        verdicts, divergences = self._judge_event(tracked, event, before, now) if is_news else ([], [])
        if not is_news:
            self._drop(tracked, [p.key for p in _reported_by(event, tracked.open.values())])
        statement = explain(self._observation(tracked, now))
        tracked.stage = statement.stage
        self._expect(tracked, statement)
        return ShadowReport(statement, (), tuple(verdicts), tuple(divergences))

    def _judge_event(
        self, tracked: Tracked, event: Event, before: Event | None, now: int
    ) -> tuple[list[PredictionVerdict], list[Divergence]]:
        at = event_time(event) or now
        complete = before is not None and event_count(event) == event_count(before) + 1
        judged = [judge_event(p, at) for p in _reported_by(event, tracked.open.values())]
        # The kubelet's recorder counts dropped Events: after a gap, the due time of the first one is unknown.
        verdicts = [self._count(v) for v in judged if complete or v.outcome != "late"]
        self._drop(tracked, [v.prediction.key for v in judged if not complete and v.outcome == "late"])
        for verdict in verdicts:
            tracked.open.pop(verdict.prediction.key, None)
        divergences = [
            divergence_of(v, tracked.pod, now, (_said(event),)) for v in verdicts if v.outcome in ("early", "late")
        ]
        divergences += killed_too_early(self._observation(tracked, now), event, at, before if complete else None)
        return verdicts, divergences

    def observe_node(self, node: Node | None) -> None:
        self.node, self.node_gone = node, node is None

    def kubelet_started(self, at: int) -> None:
        """Handle a restart of the kubelet: it has no back-offs and draws new jitter, so older predictions are void."""
        if at <= self.kubelet_since:
            return
        self.kubelet_since = at
        self._crashes.forget_all(at)
        for tracked in self.pods.values():
            self._drop(tracked)

    def clock_set(self, now: int) -> None:
        """Handle a new measurement of the node's clock: times from the previous estimate are no longer valid."""
        self.missed()
        for tracked in self.pods.values():
            tracked.exits_seen.clear()
            tracked.seen_at, tracked.since = min(tracked.seen_at, now), min(tracked.since, now)

    def missed_events(self) -> None:
        """Note that no Event was received for a while: a new one proves nothing about earlier ones."""
        for tracked in self.pods.values():
            self._drop(tracked, [key for key in tracked.open if key[0] in REPORTED_BY_EVENTS])

    def missed(self, uid: str | None = None) -> None:
        """Note that nothing was received for a while (of one pod, or of all): a late change may have happened in
        time."""
        for tracked in self.pods.values() if uid is None else (self.pods[uid],):
            tracked.excused = True
            self._drop(tracked)

    def overdue(self, now: int) -> tuple[Pod, ...]:
        """The pods for which `tick` would report something, so that the caller can read them again first."""
        return tuple(
            tracked.pod
            for tracked in self.pods.values()
            if self.clock_known and any(p.overdue_at is not None and now > p.overdue_at for p in tracked.open.values())
        )

    def tick(self, now: int) -> tuple[Divergence, ...]:
        """Report overdue predictions, each once."""
        self._crashes.gc(now)
        if not self.clock_known:
            return ()
        late = []
        for tracked in self.pods.values():
            for prediction in [p for p in tracked.open.values() if p.overdue_at is not None and now > p.overdue_at]:
                del tracked.open[prediction.key]
                verdict = self._count(PredictionVerdict(prediction, "late", now, now))
                late.append(divergence_of(verdict, tracked.pod, now, (Fact("observed", "nothing so far"),)))
        return tuple(late)

    # -- queries ------------------------------------------------------------------------------------------------

    def followed(self) -> list[Pod]:
        return [tracked.pod for tracked in self.pods.values()]

    def knows(self, event: Event) -> bool:
        """Whether an Event is about the node, or about a tracked pod."""
        return event.involved_object.kind == "Node" or self._tracked(event) is not None

    def statement(self, uid: str, now: int) -> Statement:
        """The statement about the pod at this time."""
        return explain(self._observation(self.pods[uid], now))

    def next_due(self) -> int | None:
        """When `tick` has something to report next."""
        moments = [p.overdue_at for t in self.pods.values() for p in t.open.values() if p.overdue_at is not None]
        return min(moments, default=None)

    # -- implementation -----------------------------------------------------------------------------------------

    def _observation(self, tracked: Tracked, now: int) -> Observation:
        memory = Memory(self._crashes.entries(tracked.pod), tracked.exits_seen, tracked.since, self.kubelet_since)
        events = tuple(tracked.events.values())
        return Observation(
            tracked.pod,
            now,
            events,
            self.node,
            self.node_gone,
            memory,
            self.objects,
            self.periods,
            clock_known=self.clock_known,
        )

    def _tracked(self, event: Event) -> Tracked | None:
        about = event.involved_object
        by_uid = self.pods.get(about.uid)
        if by_uid is not None:
            return by_uid
        uid = self._uids.get((about.namespace, about.name))
        tracked = self.pods.get(uid) if uid is not None else None
        if tracked is None or not about.uid:
            return tracked
        # The Events of a static pod have the uid of the file's pod.
        return tracked if tracked.pod.metadata.annotations.get(CONFIG_HASH) == about.uid else None

    def _remember(self, tracked: Tracked, old: Pod, found: Iterable[ObservedChange], now: int) -> None:
        self._crashes.follow(old, tracked.pod, tracked.events.values())
        for change in found:
            if change.kind == "exited" or (change.kind == "started" and not change.timed):
                tracked.exits_seen[change.container] = now
            elif change.kind == "started":
                tracked.exits_seen.pop(change.container, None)

    def _settle(self, tracked: Tracked, found: Iterable[ObservedChange], now: int) -> list[PredictionVerdict]:
        """Check the open predictions against the changes and the clock, then drop those that are void."""
        verdicts = []
        for prediction in list(tracked.open.values()):
            judged = (judge_change(prediction, change) for change in found)
            verdict = next((v for v in judged if v is not None), None)
            overdue, excused = prediction.overdue_at, tracked.excused or not self.clock_known
            if verdict is None and overdue is not None and now > overdue and not excused:
                verdict = PredictionVerdict(prediction, "late", now, now)
            doubtful = verdict is not None and (
                (verdict.outcome == "late" and excused) or (verdict.outcome == "early" and not self.clock_known)
            )
            if verdict is not None and not doubtful:
                del tracked.open[prediction.key]
                verdicts.append(self._count(verdict))
        if any(change.kind in OUTSIDE or change.kind == "sandbox-lost" for change in found):
            self._drop(tracked)
        return verdicts

    def _expect(self, tracked: Tracked, statement: Statement) -> None:
        """Add the predictions of a new statement. A prediction that exists keeps its end; it loses the end if something
        else blocks the worker now. The end of a pull depends only on Events: a later Event may postpone it."""
        made = () if _may_restart_all(tracked.pod) else predictions_of(statement, tracked.pod)
        wanted = {prediction.key: prediction for prediction in made}
        for key in [key for key in tracked.open if key not in wanted]:
            self._count(PredictionVerdict(tracked.open.pop(key), "dropped", tracked.seen_at, tracked.seen_at))
        for key, prediction in wanted.items():
            known = tracked.open.setdefault(key, prediction)
            latest = prediction.window.latest
            if known.window.latest is not None and (
                latest is None or (prediction.due == "pull" and latest > known.window.latest)
            ):
                tracked.open[key] = replace(known, window=Window(known.window.earliest, latest))

    def _drop(self, tracked: Tracked, keys: Iterable[Key] | None = None) -> None:
        """Drop these predictions, or all."""
        for key in list(tracked.open) if keys is None else keys:
            self._count(PredictionVerdict(tracked.open.pop(key), "dropped", tracked.seen_at, tracked.seen_at))

    def _count(self, verdict: PredictionVerdict) -> PredictionVerdict:
        key = (verdict.prediction.due, verdict.outcome)
        self.outcomes[key] = self.outcomes.get(key, 0) + 1
        return verdict


def _may_restart_all(pod: Pod) -> bool:
    """Whether RestartAllContainers may remove the pod's containers and their restart counts: then no rule here
    applies."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    return any(rule.action == RESTART_ALL_CONTAINERS for one in containers for rule in one.restart_policy_rules)


def _keep(tracked: Tracked, event: Event) -> Event | None:
    """Store an Event. Returns the Event that it replaces: the same message with the previous count and time."""
    key = (event.involved_object.field_path, event.reason, event.message)
    before = tracked.events.pop(key, None)
    newest = event if before is None or event_time(before) <= event_time(event) else before
    tracked.events[key] = newest
    if len(tracked.events) > KEPT_EVENTS:
        del tracked.events[next(iter(tracked.events))]
    return before


def _is_known(before: Event | None, event: Event) -> bool:
    """Whether an Event is already known, or older than a known one."""
    if before is None:
        return False
    time, time_before = event_time(event), event_time(before)
    return time < time_before or (time == time_before and event_count(event) == event_count(before))


def _said(event: Event) -> Fact:
    return Fact(f"event {event.reason}", f"{event.message.strip()[:200]} (x{event_count(event)})")


def _reported_by(event: Event, predictions: Iterable[Prediction]) -> Iterator[Prediction]:
    """The predictions that this Event reports."""
    path = event.involved_object.field_path
    for prediction in predictions:
        about = not prediction.container or path.endswith(f"{{{prediction.container}}}")
        if not about:
            continue
        if (
            (prediction.due == "pull" and event.reason == "Pulling")
            or (
                prediction.due == "mount" and event.reason == "FailedMount" and event.message.startswith("MountVolume.")
            )
            or (prediction.due == "retry" and event.reason in _RETRIED)
        ):
            yield prediction


def _reported_at_wrong_time(
    seen: Observation, old: Pod, found: Iterable[ObservedChange], excused: bool
) -> Iterator[Divergence]:
    """Check the times of exits, starts and changed conditions: a status shows them soon after, never before."""
    for what, at in (*_own_times(found), *_changed_conditions(old, seen.pod)):
        if at > seen.now + CLOCK:
            ahead = duration((at - seen.now) // SECOND * SECOND)
            yield diverges(
                seen,
                "lag",
                f"{what} is reported {ahead} before it happens",
                "A status reports what has happened; its times come from the node's clock.",
                Fact("reported at", format_micro_time(seen.now)),
                Fact(what, format_micro_time(at)),
            )
    if excused or _worker_is_busy(seen, old):
        return
    own = () if _is_terminating(seen, old) else _own_times(found)
    for what, at in (*own, *_changed_conditions(old, seen.pod)):
        lag = seen.now - at - TRUNCATION
        if lag > REPORTING + CLOCK:
            yield diverges(
                seen,
                "lag",
                f"{what} is reported {duration(lag // SECOND * SECOND)} after it happened",
                "Relists come every second and a changed status is written immediately; a write that failed is "
                "repeated "
                "within 10 s.",
                Fact("reported at", format_micro_time(seen.now)),
                Fact(what, format_micro_time(at)),
            )


def _wrong_wait(seen: Observation) -> Iterator[Divergence]:
    """Check the back-off in a message against the computed one."""
    backoff = seen.periods.crash_backoff()
    for view in seen.containers():
        reported, followed = reported_wait(view), seen.memory.crashes.get(view.name)
        if reported is not None and followed is not None and reported != followed.wait:
            found = diverges(
                seen,
                "status",
                f"the back-off of container {view.name} is {duration(followed.wait)}, but the status reports "
                f"{duration(reported)}",
                "The wait doubles with every restart after an exit, "
                f"from {duration(backoff.initial)} to {duration(backoff.maximum)}, "
                "and begins again after 10 minutes without one.",
                view.fact("state.waiting.message", view.status.state.waiting and view.status.state.waiting.message),
                view.fact("restartCount", view.status.restart_count),
            )
            yield replace(found, of_memory=True)


def _worker_is_busy(seen: Observation, old: Pod) -> bool:
    """Whether the worker is pulling, mounting or running a hook: it reports other containers only afterwards."""
    if not old.status.container_statuses or not seen.pod.status.container_statuses:
        return True
    hooks = any(view.spec.lifecycle and view.spec.lifecycle.post_start for view in seen.containers())
    waits = any(view.status.state.waiting is not None for view in seen.containers())
    waited = any(s.state.waiting for s in (*old.status.container_statuses, *old.status.init_container_statuses))
    return hooks or waits or waited


def _is_terminating(seen: Observation, old: Pod) -> bool:
    """Whether the kubelet is stopping the whole pod: it reports exits only when the last container has ended."""
    ends = old.metadata.deletion_timestamp is not None or seen.pod.status.phase in TERMINAL_PHASES
    return ends or not has_sandbox(seen)  # the stop has ended, or the pod starts over


def _own_times(found: Iterable[ObservedChange]) -> Iterator[tuple[str, int]]:
    for change in found:
        if change.kind in ("exited", "started") and change.timed:
            yield f"container {change.container} {change.kind}", change.earliest


def _changed_conditions(old: Pod, new: Pod) -> Iterator[tuple[str, int]]:
    for condition in new.status.conditions:
        before = find_condition(old.status.conditions, condition.type)
        at = moment(condition.last_transition_time)
        owned = condition.type in conditions_by_kubelet()
        if owned and at is not None and before is not None and before.status != condition.status:
            yield f"condition {condition.type} {condition.status}", at

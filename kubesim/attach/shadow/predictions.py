"""Predictions: what the kubelet must do according to a statement, and whether the observations agree.

Every step with a `due` gives a prediction; a repeated step only narrows its window. A prediction is kept, broken (too
early, too late), or dropped because of an intervention.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from kubesim.api.pod import Pod
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import MILLISECOND, format_micro_time
from kubesim.attach.explain.page import window_text
from kubesim.attach.explain.statement import Due, Fact, Statement, Window
from kubesim.attach.explain.tolerances import DURATIONS, EARLY, RELIST
from kubesim.attach.rules.living import image_reference
from kubesim.attach.shadow.changes import ObservedChange
from kubesim.attach.shadow.divergence import Divergence, DivergenceKind
from kubesim.golang.text import duration
from kubesim.values import value_object

Outcome = Literal["kept", "early", "late", "dropped"]
Key = tuple[Due, str]

_CHANGES: dict[Due, tuple[str, ...]] = {
    "accept": ("accepted", "rejected"),
    "restart": ("started",),
    "restart-by": ("started",),
    "startup": ("started-up",),
    "readiness": ("container-ready",),
    "acknowledge": ("acknowledged", "ended", "removed", "finalizing"),
    "kill": ("ended", "removed", "finalizing"),
    "end": ("ended", "removed", "finalizing"),
    "clean-up": ("finalizing", "removed"),
}
# Only Events report these. Events can be lost, and for a mount or a retry only failures are reported.
REPORTED_BY_EVENTS: frozenset[Due] = frozenset({"mount", "retry", "pull"})
_BY_THE_WORKER: frozenset[Due] = frozenset({"restart", "restart-by", "pull", "retry"})
# The next time of these is only in the kubelet's memory, and a new kubelet retries immediately.
_OF_MEMORY: frozenset[Due] = frozenset({"restart", "pull", "mount"})
_HELD_BACK = ("CrashLoopBackOff", "ImagePullBackOff")  # they take no time in a sync


@value_object
class Prediction:
    """A prediction. `window` is the time of the step itself; tolerances are added before a divergence is reported."""

    due: Due
    container: str
    what: str
    because: str
    rule: str
    window: Window
    made_at: int

    @property
    def key(self) -> Key:
        return self.due, self.container

    @property
    def overdue_at(self) -> int | None:
        """The time at which the prediction is broken if nothing was observed."""
        return None if self.due in REPORTED_BY_EVENTS else self.reported_by

    @property
    def done_by(self) -> int | None:
        return None if self.window.latest is None else self.window.latest + DURATIONS[self.due]

    @property
    def reported_by(self) -> int | None:
        """The time by which a status shows the step: the relist after it."""
        return None if self.done_by is None else self.done_by + RELIST


@value_object
class PredictionVerdict:
    """The outcome of a prediction, and the time window of its event."""

    prediction: Prediction
    outcome: Outcome
    earliest: int
    latest: int


def predictions_of(statement: Statement, pod: Pod) -> Iterable[Prediction]:
    for cause in statement.causes:
        for step in cause.steps:
            if step.due is None or step.window is None:
                continue
            window = step.window
            if step.due in _BY_THE_WORKER and _may_take_longer(pod, step.container, step.due):
                window = Window(window.earliest, None)
            yield Prediction(step.due, step.container, step.what, step.because, cause.rule, window, statement.as_of)


def _may_take_longer(pod: Pod, name: str, due: Due) -> bool:
    """Whether the worker may be busy: it does one thing after the other, and a pull has no time limit and may fail."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    own = due in ("restart", "restart-by") and _may_pull(pod, name)
    others = any(
        one.name != name and one.state.waiting is not None and one.state.waiting.reason not in _HELD_BACK
        for one in statuses
    )
    return own or others or _is_behind_a_sidecar(pod, name) or _hooks_or_kills_hold_up(pod, name)


def _hooks_or_kills_hold_up(pod: Pod, name: str) -> bool:
    """Whether a sync may be delayed: it waits for the postStart hook of any container that it starts, and for the grace
    period of a container that it stops for a failed probe (kuberuntime_container.go startContainer, killContainer).
    Until then no status reports it."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    hooks = any(one.lifecycle and one.lifecycle.post_start for one in containers)
    return hooks or any(one.name != name and (one.liveness_probe or one.startup_probe) for one in containers)


def _may_pull(pod: Pod, name: str) -> bool:
    """Whether a restart may pull the image: it always does, or the image differs from that of the last attempt."""
    container = pod.spec.find_container(name)
    if container is None or container.image_pull_policy == "Always":
        return container is not None
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    status = next((one for one in statuses if one.name == name), None)
    if status is None or not status.image:
        return False
    digest = container.image.partition("@")[2]
    if digest:
        return digest not in status.image_id
    return image_reference(status.image) != image_reference(container.image)


def _is_behind_a_sidecar(pod: Pod, name: str) -> bool:
    """Whether a sidecar in back-off comes first: a sync that finds it starts nothing after it."""
    status_of = {one.name: one for one in pod.status.init_container_statuses}
    for container in pod.spec.init_containers:
        if container.name == name:
            return False
        status = status_of.get(container.name)
        if is_restartable_init_container(container) and status is not None and status.state.running is None:
            return True
    return False


def judge_change(prediction: Prediction, change: ObservedChange) -> PredictionVerdict | None:
    """The verdict on a prediction after a change; None if the change is unrelated."""
    if change.kind not in _CHANGES.get(prediction.due, ()):
        return None
    if prediction.container and change.container not in ("", prediction.container):
        return None
    return _judged(
        prediction, change.earliest, change.latest, prediction.done_by if change.timed else prediction.reported_by
    )


def judge_event(prediction: Prediction, at: int) -> PredictionVerdict:
    """The verdict after an Event that reports the predicted step: a pull that begins, a mount that failed again, a
    retried sync."""
    return _judged(prediction, at, at, prediction.done_by)


def _judged(prediction: Prediction, earliest: int, latest: int, late_after: int | None) -> PredictionVerdict:
    window = prediction.window
    tolerance = EARLY.get(prediction.due)  # a sync may happen at any time, so a mere retry is never too early
    if tolerance is not None and window.earliest is not None and latest < window.earliest - tolerance:
        return PredictionVerdict(prediction, "early", earliest, latest)
    if late_after is not None and earliest > late_after:
        return PredictionVerdict(prediction, "late", earliest, latest)
    return PredictionVerdict(prediction, "kept", earliest, latest)


def divergence_of(verdict: PredictionVerdict, pod: Pod, now: int, evidence: tuple[Fact, ...] = ()) -> Divergence:
    """A broken prediction, in words."""
    prediction, meta = verdict.prediction, pod.metadata
    window, kind = prediction.window, verdict.outcome
    assert kind in ("early", "late")
    if kind == "early":
        assert window.earliest is not None
        apart = duration((window.earliest - verdict.latest) // MILLISECOND * MILLISECOND)
        says = f"{prediction.what}: {apart} before the rules allow it"
    else:
        assert window.latest is not None
        apart = duration((verdict.earliest - window.latest) // MILLISECOND * MILLISECOND)
        says = f"{prediction.what}: {apart} after it was due at the latest"
    shown: DivergenceKind = "early" if kind == "early" else "late"
    reported = window_text(window, prediction.made_at)
    facts = (
        Fact("predicted", f"{reported} ({prediction.because})" if prediction.because else reported),
        Fact("observed", f"{format_micro_time(verdict.earliest)} to {format_micro_time(verdict.latest)}"),
        *evidence,
    )
    of_memory = kind == "early" and prediction.due in _OF_MEMORY
    return Divergence(shown, meta.namespace, meta.name, meta.uid, now, says, prediction.rule, facts, of_memory)

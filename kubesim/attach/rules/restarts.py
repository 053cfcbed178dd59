"""Running containers that were restarted: how often, when last, and why.

A pod in a crash loop is Running and even Ready between two crashes; only its restart count shows the problem.

Mirrors: kuberuntime_manager.go computePodActions (failed probes), prober/worker.go doProbe
"""

from __future__ import annotations

from kubesim.api.event import Event
from kubesim.api.pod import ContainerStateTerminated, Pod
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import ContainerView, Observation, event_count, event_fact, event_time, moment
from kubesim.attach.explain.statement import Cause, Fact, NextStep, upper_first
from kubesim.attach.rules.crashes import OOM_KILLED, back_off_reset, end_detail, how_it_ended
from kubesim.golang.text import duration

_STOPPED = (0, 137, 143)  # exit codes after a stop signal: handled, SIGKILL, SIGTERM
_PROBES = ("liveness", "startup")


def restarted(seen: Observation, view: ContainerView) -> Cause | None:
    """The cause for a container that runs after restarts; None for other containers."""
    status = view.status
    if status.state.running is None or not status.restart_count or view.kind in ("init", "ephemeral"):
        return None
    ended = status.last_state.terminated
    killing = _killed_for(seen, view)
    how = "" if ended is None else f" The last attempt{_when(seen, ended.finished_at)} {_how(ended, killing)}"
    why = "" if killing is None else f", because {_kill_words(seen, view, killing)}"
    reset_at = back_off_reset(seen, view)
    return Cause(
        code="Restarted",
        container=view.name,
        says=f"{upper_first(view.words)} runs now, but was restarted {_times(status.restart_count)}."
        f"{how}{why}{'.' if how else ''}",
        rule="A container that ends, or fails its liveness or startup probe, is started again by the restart policy. "
        "The count stays for as long as the pod exists; the back-off is reset when an attempt runs for 10 minutes.",
        ref="kuberuntime_manager.go computePodActions, doBackOff",
        steps=(NextStep("exited", "if the cause persists, it ends again", view.name, certain=False),),
        remedies=(_remedy(view, killing),),
        facts=(
            reset_at or view.fact("restartCount", status.restart_count),
            *_end_facts(view),
            *(event_fact(event) for event in _events(seen, view, killing)),
        ),
    )


def being_killed(seen: Observation, view: ContainerView) -> Cause | None:
    """The cause for a running container that the kubelet is stopping because of a failed probe."""
    running = view.status.state.running
    started = moment(running.started_at) if running is not None else None
    killings = [event for event in seen.events_of("Killing", path=view.event_path) if _probe(event)]
    if started is None or not killings or event_time(killings[-1]) <= started:
        return None
    event = killings[-1]
    again = "restarted" in event.message
    return Cause(
        code="ProbeFailed",
        container=view.name,
        says=f"The kubelet stops {view.words} because its {_probe(event)} probe failed"
        f"{', and then starts it again' if again else ''}.",
        rule="A container that fails its liveness or startup probe failureThreshold times in a row is stopped: its "
        "preStop hook runs, then it gets SIGTERM, and SIGKILL when the probe's or the pod's grace period is over. "
        "The restart policy decides whether the container is started again. The back-off of earlier restarts "
        "decides when.",
        ref="kuberuntime_manager.go computePodActions, doBackOff",
        steps=(
            NextStep("exited", f"{view.words} ends within its grace period", view.name, certain=False),
            NextStep("started", f"{view.words} is started again", view.name, certain=False),
            NextStep("container-unready", "until then it is not ready", view.name, certain=False),
        ),
        remedies=(_remedy(view, event),),
        facts=tuple(event_fact(one) for one in _events(seen, view, event)),
        detail=f"{_probe(event)} probe of {view.name}",
    )


def restart_detail(seen: Observation) -> str:
    """`18 restarts, last: OOMKilled` for a table; empty if no running container was restarted."""
    found = [view for view in seen.containers() if view.status.state.running is not None and view.status.restart_count]
    if not found:
        return ""
    total = sum(view.status.restart_count for view in found)
    newest = max(found, key=lambda view: _finished(view))
    return f"{total} restart{'s' if total > 1 else ''}{_last(seen, newest)}"


def restart_count(pod: Pod) -> int:
    """The restart count as in the RESTARTS column of `kubectl get pods`: of regular containers and sidecars."""
    sidecars = {each.name for each in pod.spec.init_containers if is_restartable_init_container(each)}
    beside = [status for status in pod.status.init_container_statuses if status.name in sidecars]
    return sum(status.restart_count for status in (*pod.status.container_statuses, *beside))


def _last(seen: Observation, view: ContainerView) -> str:
    killing = _killed_for(seen, view)
    if killing is not None:
        return f", last: {_probe(killing)} probe failed"
    ended = view.status.last_state.terminated
    return "" if ended is None else f", last: {end_detail(ended)}"


def _finished(view: ContainerView) -> int:
    ended = view.status.last_state.terminated
    return (moment(ended.finished_at) or 0) if ended is not None else 0


def _killed_for(seen: Observation, view: ContainerView) -> Event | None:
    """The newest Event about an attempt that the kubelet stopped for a failed probe; None if the last attempt did not
    end by a signal."""
    ended = view.status.last_state.terminated
    if ended is None or ended.exit_code not in _STOPPED or ended.reason == OOM_KILLED:
        return None
    killings = [event for event in seen.events_of("Killing", path=view.event_path) if _probe(event)]
    return killings[-1] if killings else None


def _kill_words(seen: Observation, view: ContainerView, killing: Event) -> str:
    ended = view.status.last_state.terminated
    over = _finished(view)
    began = (moment(ended.started_at) or 0) if ended is not None else 0
    # Events with the same text are counted in one object.
    first = moment(killing.first_timestamp) or event_time(killing)
    if first <= over + SECOND and event_time(killing) >= began:
        return f"its {_probe(killing)} probe failed and the kubelet stopped it"
    # The recorder drops Events of a pod that emits too many.
    return f"its {_probe(killing)} probe failed, as Events of earlier attempts suggest"


def _probe(event: Event) -> str:
    return next((word for word in _PROBES if f"failed {word} probe" in event.message), "")


def _events(seen: Observation, view: ContainerView, killing: Event | None) -> tuple[Event, ...]:
    """The Events about probes and back-offs of this container."""
    unhealthy = list({e.message: e for e in seen.events_of("Unhealthy", path=view.event_path)}.values())[-2:]
    backing_off = seen.events_of("BackOff", path=view.event_path)[-1:]
    killed = () if killing is None else (killing,)
    return (*unhealthy, *killed, *(event for event in backing_off if event_count(event) > 1))


def _end_facts(view: ContainerView) -> tuple[Fact, ...]:
    ended = view.status.last_state.terminated
    if ended is None:
        return ()
    return (
        view.fact("lastState.terminated.exitCode", ended.exit_code),
        view.fact("lastState.terminated.reason", ended.reason or '""'),
        view.fact("lastState.terminated.finishedAt", ended.finished_at),
    )


def _when(seen: Observation, finished_at: str | None) -> str:
    finished = moment(finished_at)
    if finished is None or finished > seen.now:
        return ""
    return f", which ended {duration((seen.now - finished) // SECOND * SECOND)} ago,"


def _how(ended: ContainerStateTerminated, killing: Event | None) -> str:
    """How the attempt ended, in words: after SIGTERM a program did not complete, whatever its exit code is."""
    return how_it_ended(ended) if killing is None or ended.exit_code else "exited with 0"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _remedy(view: ContainerView, killing: Event | None) -> str:
    logs = f"read why it ended: kubectl logs -c {view.name} --previous"
    if killing is not None:
        return f"make the {_probe(killing)} probe succeed, or give it more time (see the Events Unhealthy)"
    ended = view.status.last_state.terminated
    if ended is not None and ended.reason == OOM_KILLED:
        limit = view.spec.resources.limits.get("memory", "none of its own")
        return f"raise resources.limits.memory (now {limit}) or make the program use less"
    return logs

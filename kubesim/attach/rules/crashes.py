"""Exited containers: which ones restart and when, which ones do not, and what an exit code means.

Mirrors: kuberuntime_manager.go doBackOff, pkg/api/v1/pod/util.go ContainerShouldRestart, pod_workers.go completeWork
"""

from __future__ import annotations

from signal import Signals

from kubesim.api.pod import ContainerStateTerminated
from kubesim.api.timestamps import SECOND, format_time
from kubesim.attach.explain.observation import ContainerView, Observation, moment
from kubesim.attach.explain.runtime_truth import newest_end
from kubesim.attach.explain.statement import Cause, Fact, NextStep, upper_first
from kubesim.attach.explain.timing import CrashWait, back_off_reset_time, crash_wait, stretched
from kubesim.golang.text import duration
from kubesim.kubelet.status.generate.reasons import CONTAINER_STATUS_UNKNOWN
from kubesim.runtime.kuberuntime.decide.backoff import CRASH_LOOP_BACK_OFF
from kubesim.runtime.kuberuntime.decide.restart_policy import explain_restart, should_container_be_restarted
from kubesim.runtime.types import RuntimePodStatus

REF = "kuberuntime_manager.go doBackOff"
OOM_KILLED = "OOMKilled"


def starts_again(seen: Observation, view: ContainerView, status: RuntimePodStatus) -> bool:
    """Whether the kubelet restarts this exited container, by its own rule. A plain init container that succeeded is not
    restarted."""
    ended = newest_end(view)
    if view.kind == "init" and ended is not None and ended.exit_code == 0:
        return False
    if view.kind == "ephemeral":
        return False
    return should_container_be_restarted(view.spec, seen.pod, status, seen.gates)


def crashed(seen: Observation, view: ContainerView) -> Cause | None:
    """An exited container that is restarted: immediately, or after its back-off."""
    wait = crash_wait(seen, view)
    ended = newest_end(view)
    if wait is None or ended is None:
        return None
    how = how_it_ended(ended)
    because = explain_restart(view.spec, seen.pod, ended.exit_code, seen.gates)
    steps = _steps(seen, view, wait)
    code = CRASH_LOOP_BACK_OFF if wait.wait else "Restarting"
    held = "is started again immediately"
    if wait.wait:
        most = "" if wait.certain else "at most "
        held = f"waits out its back-off of {most}{duration(wait.wait)}"
    rule = (
        f"A container that ended is started again because {because}. The first restart does not wait; "
        f"each later one waits {duration(seen.periods.crash_wait(1))} from the exit, and the wait doubles each "
        f"time, up to "
        f"{duration(seen.periods.crash_backoff().maximum)}. The worker syncs the pod again when the wait is over, "
        f"plus a jitter of up to half of it, and at least every {seen.periods.resync_words}."
    )
    return Cause(
        code=code,
        container=view.name,
        says=f"{upper_first(view.words)} {how} and {held} (restart {view.status.restart_count + 1} comes next).",
        rule=rule,
        ref=REF,
        steps=steps,
        remedies=_remedies(view, ended),
        facts=end_facts(view, ended),
        unseen=(f"the back-off itself is in the kubelet's memory; this one is {wait.known_from}",) if wait.wait else (),
        detail=end_detail(ended),
    )


def _steps(seen: Observation, view: ContainerView, wait: CrashWait) -> tuple[NextStep, ...]:
    restart = NextStep(
        "started",
        f"{view.words} is started again, as restart {view.status.restart_count + 1}",
        container=view.name,
        window=wait.window,
        because=_because(wait),
        due="restart" if wait.certain else "restart-by",
    )
    shown = NextStep(
        "waits",
        f"a sync in between shows {CRASH_LOOP_BACK_OFF}; until then the status shows the exit",
        container=view.name,
        certain=False,
    )
    steps: tuple[NextStep, ...] = (restart,)
    if wait.wait and view.waiting_reason != CRASH_LOOP_BACK_OFF:
        steps = (restart, shown)
    elif not wait.wait:
        # An attempt that fails before it runs has a waiting reason.
        failing = NextStep("waits", "if it cannot be started, the reason is shown", container=view.name, certain=False)
        steps = (restart, failing)
    # It is unpredictable whether the program will keep running this time.
    backoff = seen.periods.crash_backoff()
    next_wait = min(2 * wait.wait, backoff.maximum) if wait.wait else backoff.initial
    reset_at = back_off_reset_time(max(wait.window.latest or 0, seen.now))
    again = NextStep(
        "exited",
        f"if it ends again before about {format_time(reset_at)[11:]} the next wait is {duration(next_wait)}; if it "
        "still runs then, its back-off is reset",
        container=view.name,
        because="an exit more than 10 minutes after the last restart counts as the first",
        certain=False,
    )
    return (*steps, again)


def _because(wait: CrashWait) -> str:
    if not wait.wait:
        return "no back-off is due"
    latest = "" if wait.certain else " at the latest"
    return f"{duration(wait.wait)} after the exit{latest}, plus jitter of the worker"


def stays_down(seen: Observation, view: ContainerView) -> Cause:
    """A container that exited and is not restarted, in a pod that continues."""
    ended = newest_end(view)
    assert ended is not None
    because = explain_restart(view.spec, seen.pod, ended.exit_code, seen.gates)
    return Cause(
        code="StaysDown",
        container=view.name,
        says=f"{upper_first(view.words)} {how_it_ended(ended)} and stays down, because {because}.",
        rule="Restart rules, then the container's own restartPolicy, then the pod's decide whether an exit leads to a "
        "restart; this one does not. The pod ends when its other containers have ended.",
        ref="pkg/api/v1/pod/util.go ContainerShouldRestart",
        facts=(*end_facts(view, ended), Fact("spec.restartPolicy", seen.pod.spec.restart_policy or "Always")),
    )


def how_it_ended(ended: ContainerStateTerminated) -> str:
    """How a container ended: `exited with 1`, `was killed by the kernel for its memory (137)`, ..."""
    code = ended.exit_code
    if ended.reason == OOM_KILLED:
        return f"was killed by the kernel because it used more memory than its limit (OOMKilled, exit code {code})"
    if ended.reason == CONTAINER_STATUS_UNKNOWN:
        return "is gone from the runtime without a record of its exit (ContainerStatusUnknown)"
    if ended.reason == "StartError":
        return f"could not be started by the runtime (StartError, exit code {code})"
    if code == 0:
        return "completed (exit code 0)"
    if 128 < code < 160:
        return f"exited with {code} ({Signals(code - 128).name})"
    return f"exited with {code}"


def end_detail(ended: ContainerStateTerminated) -> str:
    """The end of a container in short: `exit code 1`, or the runtime's reason if it is more specific."""
    plain = ended.reason in ("", "Error", "Completed")
    return f"exit code {ended.exit_code}" if plain else ended.reason


def end_facts(view: ContainerView, ended: ContainerStateTerminated) -> tuple[Fact, ...]:
    """The fields that show how the newest attempt ended."""
    state = "state" if view.status.state.terminated is not None else "lastState"
    facts = []
    waiting = view.status.state.waiting
    if waiting is not None:
        facts.append(view.fact("state.waiting.reason", waiting.reason))
        if waiting.message:
            facts.append(view.fact("state.waiting.message", waiting.message))
    facts.append(view.fact(f"{state}.terminated.exitCode", ended.exit_code))
    if ended.reason:
        facts.append(view.fact(f"{state}.terminated.reason", ended.reason))
    if ended.finished_at:
        facts.append(view.fact(f"{state}.terminated.finishedAt", ended.finished_at))
    if ended.message:
        facts.append(view.fact(f"{state}.terminated.message", ended.message[-300:]))
    facts.append(view.fact("restartCount", view.status.restart_count))
    return tuple(facts)


def _remedies(view: ContainerView, ended: ContainerStateTerminated) -> tuple[str, ...]:
    logs = f"read why it ended: kubectl logs -c {view.name} --previous"
    again = "a new image or new resources for this container, or a new pod, start with a new back-off"
    if ended.reason == OOM_KILLED:
        limit = view.spec.resources.limits.get("memory", "none of its own")
        return (f"raise resources.limits.memory (now {limit}) or make the program use less", again)
    if ended.exit_code == 0:
        return (
            "a program that is meant to end belongs in a pod with restartPolicy OnFailure or Never (a Job)",
            again,
        )
    if ended.reason == "StartError":
        return (f"correct command or image of {view.name}: the runtime cannot run it", again)
    if ended.exit_code == 137:
        return ("find out what killed it: a liveness probe, memory, a user", logs, again)
    return (logs, again)


def back_off_reset(seen: Observation, view: ContainerView) -> Fact | None:
    """For a container that runs after restarts: when its back-off would be reset."""
    running = view.status.state.running
    started = moment(running.started_at) if running is not None else None
    if not view.status.restart_count or started is None or back_off_reset_time(started) <= seen.now:
        return None
    left = (back_off_reset_time(started) - seen.now) // SECOND
    wait = seen.memory.crashes.get(view.name)
    worst = wait.wait if wait is not None else seen.periods.crash_wait(view.status.restart_count)
    return Fact(
        f"{view.path}.restartCount",
        f"{view.status.restart_count}: a crash in the next {left} s waits up to {duration(worst)} (with jitter "
        f"{duration(stretched(worst))}), a later one not at all",
    )

"""Running containers that are not started or ready yet: startup probes, readiness probes, readiness gates.

The times follow `kubelet.probes.worker_rules`: the initial delay in whole seconds since the start, the period between
probes, the number of consecutive results.

Mirrors: prober/worker.go doProbe, status/generate.go GeneratePodReadyCondition
"""

from __future__ import annotations

from kubesim.api.pod import Probe
from kubesim.api.pods.pod_conditions import CONTAINERS_READY, READY, TRUE
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import ContainerView, Observation, event_fact, moment
from kubesim.attach.explain.statement import Cause, Fact, NextStep, Window, upper_first
from kubesim.attach.explain.timing import failure_window, period, success_earliest
from kubesim.kubelet.probes.worker_rules import ProbeWorkerState, WorkerSubject, before_probe
from kubesim.kubelet.status.generate.inputs import ProbeType
from kubesim.kubelet.status.generate.reasons import READINESS_GATES_NOT_READY
from kubesim.runtime.kuberuntime.decide.restart_policy import NEVER

REF = "prober/worker.go doProbe"


def not_started(seen: Observation, view: ContainerView) -> Cause | None:
    """The cause for a running container whose startup probe has not succeeded yet."""
    running, probe = view.status.state.running, view.spec.startup_probe
    if running is None or view.status.started or probe is None:
        return None
    started_at = moment(running.started_at)
    window = failure_window(probe, started_at) if started_at is not None else Window()
    restarts = "is killed and started again" if seen.pod.spec.restart_policy != NEVER else "is killed"
    return Cause(
        code="StartupProbePending",
        container=view.name,
        says=f"{upper_first(view.words)} runs, but its startup probe has not succeeded yet; until then it does not "
        f"count as started and no other probe of it runs.{_not_probing(seen, view, 'startup')}",
        rule=f"The startup probe ({arithmetic(probe)}) must succeed once; {probe.failure_threshold or 3} failures in "
        f"a row and the container {restarts}. Sidecars let the next init container begin only when they have started.",
        ref=REF,
        steps=(
            NextStep(
                "started-up",
                "with the probe's first success it counts as started",
                view.name,
                Window(success_earliest(probe, started_at) if started_at is not None else None, None),
                "not before the initial delay",
                certain=False,
                due="startup",
            ),
            NextStep(
                "started",
                f"if it fails {probe.failure_threshold or 3} times in a row the container {restarts}",
                view.name,
                window,
                "failureThreshold times the period after the first probe",
                certain=False,
            ),
            NextStep("exited", "its program may end before", view.name, certain=False),
        ),
        remedies=(
            ("see what the probe gets (Events Unhealthy); give it more time with failureThreshold or periodSeconds"),
        ),
        facts=(
            view.fact("started", "false"),
            Fact(f"{view.spec_path}.startupProbe", arithmetic(probe)),
            *_unhealthy(seen, view, "Startup"),
        ),
        unseen=("results of single probes: only failures are reported, as Events",),
    )


def not_ready(seen: Observation, view: ContainerView) -> Cause | None:
    """The cause for a started container whose readiness probe does not succeed (any more)."""
    running, probe = view.status.state.running, view.spec.readiness_probe
    if running is None or view.status.ready or not view.status.started or view.kind in ("init", "ephemeral"):
        return None
    started_at = moment(running.started_at)
    if probe is None:
        return Cause(
            code="NotReadyWithoutProbe",
            container=view.name,
            says=f"{upper_first(view.words)} runs without a readiness probe and yet is not ready: the status is about "
            "to be corrected.",
            rule="A container without a readiness probe is ready as soon as it has started.",
            ref="prober_manager.go UpdatePodStatus",
            steps=(
                NextStep(
                    "container-ready",
                    "the next sync shows it ready",
                    view.name,
                    Window(None, seen.now),
                    due="readiness",
                ),
            ),
            facts=(view.fact("ready", "false"),),
        )
    times = "once" if (probe.success_threshold or 1) == 1 else f"{probe.success_threshold} times in a row"
    earliest = success_earliest(probe, started_at) if started_at is not None else None
    return Cause(
        code="ReadinessProbeFailing",
        container=view.name,
        says=f"{upper_first(view.words)} runs, but is not ready: its readiness probe has not succeeded "
        f"{times}.{_not_probing(seen, view, 'readiness')}",
        rule=f"A container with a readiness probe ({arithmetic(probe)}) begins as not ready, becomes ready after "
        f"{_in_a_row(probe.success_threshold or 1, 'success', 'successes')} and not ready again after "
        f"{_in_a_row(probe.failure_threshold or 3, 'failure', 'failures')}. While it is not ready every sync of "
        "the pod also triggers a probe. It is never restarted for this.",
        ref=REF,
        steps=(
            NextStep(
                "container-ready",
                f"when the probe succeeds {times} it is ready",
                view.name,
                Window(earliest, None),
                f"probes come every {period(probe) // SECOND} s, the first after {probe.initial_delay_seconds} s",
                certain=False,
                due="readiness",
            ),
            NextStep("exited", "its program may end before", view.name, certain=False),
        ),
        remedies=("see what the probe gets (Events Unhealthy): the program, the port or the path may be wrong",),
        facts=(
            view.fact("ready", "false"),
            Fact(f"{view.spec_path}.readinessProbe", arithmetic(probe)),
            *_unhealthy(seen, view, "Readiness"),
            *seen.condition_facts(READY),
        ),
        unseen=("results of single probes: only failures are reported, as Events",),
    )


def gates_not_ready(seen: Observation) -> Cause | None:
    """The cause if all containers are ready, but a condition that another controller sets is missing."""
    gates = seen.pod.spec.readiness_gates
    ready, containers = seen.condition(READY), seen.condition(CONTAINERS_READY)
    if not gates or containers is None or containers.status != TRUE or ready is None or ready.status == TRUE:
        return None
    missing = []
    for gate in gates:
        condition = seen.condition(gate.condition_type)
        if condition is None or condition.status != TRUE:
            missing.append((gate.condition_type, "absent" if condition is None else condition.status))
    named = ", ".join(f"{name} ({status})" for name, status in missing)
    return Cause(
        code=READINESS_GATES_NOT_READY,
        says=f"All containers are ready; the pod is not, because of its readiness gates: {named or 'just satisfied'}.",
        rule="A pod is Ready when its containers are and every condition named in spec.readinessGates is True. The "
        "kubelet only reads those conditions; a controller writes them.",
        ref="status/generate.go GeneratePodReadyCondition",
        steps=(
            NextStep(
                "ready", "when the condition becomes True, the kubelet writes Ready immediately", certain=not missing
            ),
        ),
        remedies=tuple(f"the controller that owns condition {name} has to set it to True" for name, _ in missing),
        facts=(
            *(Fact(f"status.conditions[{name}]", status) for name, status in missing),
            *seen.condition_facts(CONTAINERS_READY, READY),
        ),
    )


def _in_a_row(count: int, one: str, many: str) -> str:
    return f"1 {one}" if count == 1 else f"{count} {many} in a row"


def arithmetic(probe: Probe) -> str:
    """The settings of a probe in words: `exec, delay 5s, every 10s, timeout 1s, 1 success, 3 failures`."""
    kinds = {"exec": probe.exec, "httpGet": probe.http_get, "tcpSocket": probe.tcp_socket, "grpc": probe.grpc}
    kind = next((name for name, given in kinds.items() if given is not None), "no handler")
    return (
        f"{kind}, delay {probe.initial_delay_seconds}s, every {period(probe) // SECOND}s, timeout "
        f"{probe.timeout_seconds or 1}s, {probe.success_threshold or 1} success, {probe.failure_threshold or 3} "
        "failures"
    )


def _not_probing(seen: Observation, view: ContainerView, kind: ProbeType) -> str:
    """A note if the probe worker, by its own rule, is not probing at this time."""
    subject = WorkerSubject.of(seen.pod, view.spec, kind)
    turn = before_probe(subject, ProbeWorkerState(), seen.pod.status, seen.now, 0, seen.gates)
    if turn.next == "wait" and view.status.container_id and subject.spec.initial_delay_seconds:
        return f" It is not probed yet: initialDelaySeconds is {subject.spec.initial_delay_seconds}."
    return ""


def _unhealthy(seen: Observation, view: ContainerView, word: str) -> tuple[Fact, ...]:
    events = [e for e in seen.events_of("Unhealthy", path=view.event_path) if e.message.startswith(word)]
    return tuple(event_fact(event) for event in events[-2:])

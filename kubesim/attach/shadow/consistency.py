"""Checks whether this version of the kubelet could have written a status, by computing its derived fields again.

Conditions and phase are functions of the container statuses; the functions are those that a run uses. A status that
disagrees with them was not written by these rules.

Mirrors: status/generate.go, kubelet_pods.go getPhase, status_manager.go mergePodStatus
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import ContainerStateTerminated, ContainerStatus, Pod, PodCondition, PodStatus
from kubesim.api.pods.phases import FAILED, PENDING, RUNNING, TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import (
    CONTAINERS_READY,
    DISRUPTION_TARGET,
    INITIALIZED,
    POD_READY_TO_START_CONTAINERS,
    READY,
    TRUE,
    find_condition,
)
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import ContainerView, Observation, moment
from kubesim.attach.explain.statement import Fact
from kubesim.attach.explain.timing import success_earliest
from kubesim.attach.explain.tolerances import CLOCK
from kubesim.attach.shadow.divergence import Divergence, diverges
from kubesim.kubelet.status.generate.conditions import (
    conditions_by_kubelet,
    generate_containers_ready_condition,
    generate_pod_initialized_condition,
    generate_pod_ready_condition,
)
from kubesim.kubelet.status.generate.phase import get_phase
from kubesim.kubelet.status.generate.reasons import CONTAINER_STATUS_UNKNOWN


def status_divergences(seen: Observation, old: PodStatus | None) -> Iterator[Divergence]:
    """The rules that a single status breaks; `old` is the previous status, if known."""
    pod = seen.pod
    meta, status = pod.metadata, pod.status
    if status.observed_generation > meta.generation > 0:
        yield _contradicts(
            seen,
            "observedGeneration is beyond the pod's generation",
            "The kubelet writes the generation of the pod that it has seen.",
            Fact("metadata.generation", str(meta.generation)),
            Fact("status.observedGeneration", str(status.observed_generation)),
        )
    for view in seen.containers():
        if view.status.name:
            yield from _container(seen, view, old)
    if status.container_statuses and find_condition(status.conditions, READY) is not None:
        yield from _phase(seen)
        yield from _conditions(seen, old)


def _startup_begins(view: ContainerView, old: PodStatus | None) -> bool:
    """Whether the initial result of a startup probe (unknown) reset `started`: the status manager writes that alone,
    and the next sync computes `ready` from it (SetContainerStartup). It does so after a restart of the kubelet, or of a
    container that had started before."""
    known = () if old is None else (*old.init_container_statuses, *old.container_statuses)
    was = next((one for one in known if one.name == view.name), None)
    return view.spec.startup_probe is not None and (was is None or (was.ready and bool(was.started)))


def _container(seen: Observation, view: ContainerView, old: PodStatus | None) -> Iterator[Divergence]:
    state = view.status.state
    if sum(part is not None for part in (state.waiting, state.running, state.terminated)) > 1:
        yield _contradicts(
            seen,
            f"{view.words} is in several states at once",
            "A container state has at most one of waiting, running and terminated.",
            view.fact("state", sorted(state.to_json())),
        )
    done_init = view.kind == "init" and state.terminated is not None and state.terminated.exit_code == 0
    # status_manager.go TerminatePod: only states without a known exit are overwritten.
    lost = state.terminated is not None and state.terminated.reason == CONTAINER_STATUS_UNKNOWN
    if view.status.ready and state.running is None and not done_init and not lost:
        yield _contradicts(
            seen,
            f"{view.words} is ready without running",
            "Only a running container is ready, and an init container that completed.",
            view.fact("ready", "true"),
            view.fact("state", sorted(state.to_json())),
        )
    if view.status.started and state.running is None and not lost:
        yield _contradicts(
            seen,
            f"{view.words} counts as started without running",
            "started is true only while a container runs.",
            view.fact("started", "true"),
        )
    ready_too_soon = view.status.ready and not view.status.started and view.kind != "init"
    if ready_too_soon and view.status.started is not None and not _startup_begins(view, old):
        yield _contradicts(
            seen,
            f"{view.words} is ready before it has started",
            "A container is ready only after its startup probe succeeded.",
            view.fact("ready", "true"),
            view.fact("started", "false"),
        )
    yield from _ready_before_probe(seen, view)
    yield from _end(seen, view, "state", state.terminated)
    yield from _end(seen, view, "lastState", view.status.last_state.terminated)


def _end(
    seen: Observation, view: ContainerView, field: str, ended: ContainerStateTerminated | None
) -> Iterator[Divergence]:
    if ended is None:
        return
    if ended.reason in ("Completed", "Error") and (ended.reason == "Completed") != (ended.exit_code == 0):
        yield _contradicts(
            seen,
            f"{view.words} ended with {ended.exit_code} and is reported as {ended.reason}",
            "The runtime calls an exit with 0 Completed and any other Error (or OOMKilled).",
            view.fact(f"{field}.terminated.exitCode", ended.exit_code),
            view.fact(f"{field}.terminated.reason", ended.reason),
        )
    began, over = moment(ended.started_at), moment(ended.finished_at)
    if began is not None and over is not None and over < began:
        yield _contradicts(
            seen,
            f"{view.words} ended before it began",
            "finishedAt is not before startedAt.",
            view.fact(f"{field}.terminated.startedAt", ended.started_at),
            view.fact(f"{field}.terminated.finishedAt", ended.finished_at),
        )


def _ready_before_probe(seen: Observation, view: ContainerView) -> Iterator[Divergence]:
    running, probe = view.status.state.running, view.spec.readiness_probe
    started = moment(running.started_at) if running is not None else None
    if not view.status.ready or probe is None or started is None or not seen.clock_known:
        return
    if seen.now < success_earliest(probe, started) - CLOCK:
        yield diverges(
            seen,
            "early",
            f"{view.words} is ready before its first probe can have run",
            f"The readiness probe begins {probe.initial_delay_seconds} s after the start; until then it is not ready.",
            view.fact("ready", "true"),
            view.fact("state.running.startedAt", running.started_at if running is not None else ""),
        )


def _phases(pod: Pod) -> set[str]:
    """The possible phases for these container states: of a pod that continues, and of one that terminates."""
    status = pod.status
    statuses = (*status.container_statuses, *status.init_container_statuses)
    return {
        get_phase(pod, statuses, pod_is_terminal=terminal, pod_has_initialized=initialized)
        for terminal in (False, True)
        for initialized in (False, True)
    }


def _phase(seen: Observation) -> Iterator[Divergence]:
    pod, phase = seen.pod, seen.pod.status.phase
    possible = _phases(pod)
    if phase in possible:
        return
    runs = [view.name for view in seen.containers() if view.status.state.running is not None]
    if phase in TERMINAL_PHASES:
        # Deadlines, evictions and shutdowns end a pod regardless of its containers, but only once nothing runs; others
        # (the pod garbage collector) may do it for a node that is gone.
        if not runs or seen.condition(DISRUPTION_TARGET) is not None or seen.node_gone:
            return
        if pod.metadata.deletion_timestamp is not None and not pod.status.container_statuses:
            return
    elif phase in (PENDING, RUNNING) and (possible & set(TERMINAL_PHASES) or is_over_deadline(seen)):
        # The kubelet holds a terminal phase back until nothing can be running; until then the phase stays unchanged.
        return
    wanted = " or ".join(sorted(possible))
    yield _contradicts(
        seen,
        f"phase {phase} does not follow from the containers: they mean {wanted}",
        "The phase is computed from the states of the containers.",
        Fact("status.phase", phase),
        *(view.fact("state", _in_words(view.status)) for view in seen.containers()),
    )


def _computed(seen: Observation, old: PodStatus | None) -> dict[str, list[PodCondition]]:
    """The possible conditions for these containers."""
    pod, status = seen.pod, seen.pod.status
    before = status if old is None else old
    statuses = (*status.init_container_statuses, *status.container_statuses)
    # The kubelet computes conditions with the phase of that sync; a terminal phase is written later, or was decided
    # elsewhere.
    phases = _phases(pod) | {status.phase, RUNNING}
    if is_over_deadline(seen):
        phases.add(FAILED)  # while its containers are being stopped, a failed pod already has the conditions of one
    computed: dict[str, list[PodCondition]] = {CONTAINERS_READY: [], READY: [], INITIALIZED: []}
    for phase in sorted(phases):
        containers_ready = generate_containers_ready_condition(pod, before, statuses, phase, seen.gates)
        computed[CONTAINERS_READY].append(containers_ready)
        for conditions in _gates(seen, old):
            ready = generate_pod_ready_condition(pod, before, conditions, containers_ready, seen.gates)
            computed[READY].append(ready)
        for known in (statuses, _before_startup(seen, old)):
            computed[INITIALIZED].append(generate_pod_initialized_condition(pod, before, known, phase, seen.gates))
    return computed


def is_over_deadline(seen: Observation) -> bool:
    limit, start = seen.pod.spec.active_deadline_seconds, moment(seen.pod.status.start_time)
    if limit is None or start is None:
        return False
    return not seen.clock_known or seen.now >= start + limit * SECOND - CLOCK


def _gates(seen: Observation, old: PodStatus | None) -> list[tuple[PodCondition, ...]]:
    """The conditions that Ready may have been computed from: other controllers write the conditions of readiness gates,
    and the kubelet's status follows later. Without an earlier status, the gates may have had any value."""
    status, gates = seen.pod.status, [gate.condition_type for gate in seen.pod.spec.readiness_gates]
    if not gates:
        return [status.conditions]
    others = tuple(one for one in status.conditions if one.type not in gates)
    satisfied = tuple(PodCondition(type=gate, status=TRUE) for gate in gates)
    return [status.conditions, old.conditions if old is not None else (*others, *satisfied)]


def _before_startup(seen: Observation, old: PodStatus | None) -> tuple[ContainerStatus, ...]:
    """The statuses before the result of a startup probe: the status manager writes `started` alone, and the next sync
    computes Initialized from it (SetContainerStartup)."""
    status = seen.pod.status
    known = {one.name: one for one in old.init_container_statuses} if old is not None else {}
    probed = {view.name for view in seen.containers() if view.kind == "sidecar" and view.spec.startup_probe is not None}
    inits = []
    for one in status.init_container_statuses:
        had_started = one.ready or (one.name in known and bool(known[one.name].started))
        if one.name in probed and one.state.running is not None:
            one = one.changed(started=had_started)
        inits.append(one)
    return (*inits, *status.container_statuses)


def _is_written_by_others(status: PodStatus, old: PodStatus | None) -> bool:
    """Whether the kubelet's own part of the status is unchanged."""
    if old is None or status.conditions == old.conditions:
        return False
    owned = conditions_by_kubelet()
    return (
        status.container_statuses == old.container_statuses
        and status.init_container_statuses == old.init_container_statuses
        and [one for one in status.conditions if one.type in owned]
        == [one for one in old.conditions if one.type in owned]
    )


def _conditions(seen: Observation, old: PodStatus | None) -> Iterator[Divergence]:
    pod, status = seen.pod, seen.pod.status
    if _is_written_by_others(status, old):
        return
    for kind, possible in _computed(seen, old).items():
        said = find_condition(status.conditions, kind)
        if said is None or any(_says(said) == _says(one) for one in possible):
            continue
        if kind == READY and said.status == "False" and _node_not_ready(seen):
            continue  # the node controller marks the pods of a node that stopped reporting
        if status.phase in TERMINAL_PHASES and said.status == "False" and possible[0].status == "False":
            continue
        yield _contradicts(
            seen,
            f"condition {kind} is {_in_short(said)}, where the containers mean "
            f"{' or '.join(sorted({_in_short(one) for one in possible}))}",
            "Conditions are computed from the container statuses (and, for Ready, the readiness gates).",
            Fact(f"status.conditions[{kind}]", " ".join(part for part in _says(said) if part)),
            *(view.fact("ready", view.status.ready) for view in seen.containers()),
        )
    sandbox = find_condition(status.conditions, POD_READY_TO_START_CONTAINERS)
    if sandbox is None or sandbox.status == TRUE or pod.metadata.deletion_timestamp is not None:
        return
    # A lost sandbox leaves its containers behind: they run, and count as ready, until the kubelet stops them.
    lost = moment(sandbox.last_transition_time) or 0
    began = [
        view.name
        for view in seen.containers()
        if view.status.ready
        and view.status.state.running
        and (moment(view.status.state.running.started_at) or 0) >= lost
    ]
    if began:
        yield _contradicts(
            seen,
            f"{', '.join(began)} is ready in a pod without a sandbox",
            "Containers run in the sandbox: PodReadyToStartContainers is True before the first one runs.",
            Fact(f"status.conditions[{POD_READY_TO_START_CONTAINERS}]", sandbox.status),
        )


def _in_short(condition: PodCondition) -> str:
    return f"{condition.status} {condition.reason}".rstrip()


def _says(condition: PodCondition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message


def _in_words(status: ContainerStatus) -> str:
    return next(iter(status.state.to_json()), "none")


def _node_not_ready(seen: Observation) -> bool:
    if seen.node is None:
        return seen.node_gone
    return any(c.type == "Ready" and c.status != TRUE for c in seen.node.status.conditions)


def _contradicts(seen: Observation, says: str, rule: str, *evidence: Fact) -> Divergence:
    return diverges(seen, "status", says, rule, *evidence)

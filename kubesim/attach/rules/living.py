"""A pod that its kubelet has accepted and that has not ended: what its containers are doing.

`compute_pod_actions` decides from the observed status which container acts next, as in a run.

Mirrors: kuberuntime_manager.go computePodActions, kubelet_pods.go getPhase
"""

from __future__ import annotations

from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import INITIALIZED, READY, TRUE
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import ContainerView, Observation, event_time, moment
from kubesim.attach.explain.runtime_truth import has_sandbox, newest_end, next_actions, runtime_status
from kubesim.attach.explain.statement import Cause, Fact, NextStep, Window, upper_first
from kubesim.attach.explain.timing import failure_window
from kubesim.attach.rules.crashes import crashed, how_it_ended, starts_again, stays_down
from kubesim.attach.rules.evictions import being_ended_by_kubelet
from kubesim.attach.rules.readiness import arithmetic, gates_not_ready, not_ready, not_started
from kubesim.attach.rules.resizing import resize_not_seen, resizing
from kubesim.attach.rules.restarts import being_killed, restart_detail, restarted
from kubesim.attach.rules.starting import START_ERRORS, cannot_start, no_sandbox
from kubesim.kubelet.status.generate.active_deadline import DEADLINE_EXCEEDED
from kubesim.kubelet.status.generate.phase import get_phase
from kubesim.runtime.kuberuntime.decide.action_types import PodActions
from kubesim.runtime.types import RuntimePodStatus
from kubesim.values import replace


def living(seen: Observation) -> tuple[Cause, ...]:
    """The causes, the most important first; at least one."""
    actions, status = next_actions(seen), runtime_status(seen)
    stopped = being_ended_by_kubelet(seen) or _static_pod_stops(seen)
    if stopped is not None:
        return (stopped,)
    finishing = _finishing(seen, actions)
    if finishing is not None:
        return (finishing, *_deadline(seen))
    causes: list[Cause] = []
    views = list(seen.containers())
    initializing = _initializing(seen, views)
    if not has_sandbox(seen):
        causes.append(_sandbox_gone(seen, views) or no_sandbox(seen))
    elif initializing is not None:
        causes += _init_causes(seen, initializing, status)
    else:
        for view in views:
            cause = _container(seen, view, status)
            if cause is not None:
                causes.append(cause)
    for extra in (gates_not_ready(seen), resize_not_seen(seen)):
        if extra is not None:
            causes.append(extra)
    causes += resizing(seen)
    causes += [cause for view in views if (cause := restarted(seen, view)) is not None]
    # Problems come before normal progress.
    causes.sort(key=lambda cause: cause.code in _BESIDE)
    if all(cause.code in _BESIDE for cause in causes):
        causes.insert(0, _running(seen, views))
    deadline = _deadline(seen)
    if any(one.code == DEADLINE_EXCEEDED for one in deadline):
        return (*deadline, *(cause for cause in causes if cause.code != "Running"))
    return (*causes, *deadline)


def _container(seen: Observation, view: ContainerView, status: RuntimePodStatus) -> Cause | None:
    """The reason why one container waits; None if it does not wait."""
    state = view.status.state
    if state.running is not None:
        return being_killed(seen, view) or not_started(seen, view) or not_ready(seen, view)
    if view.waiting_reason in START_ERRORS and newest_end(view) is None:
        return cannot_start(seen, view)
    if newest_end(view) is not None and view.waiting_reason not in _OWN_REASONS:
        if starts_again(seen, view, status):
            return crashed(seen, view)
        return None if view.kind in ("init", "ephemeral") else stays_down(seen, view)
    return cannot_start(seen, view)


# These do not block the pod.
_BESIDE = frozenset({"StaysDown", "Restarted"})

# A failing image pull blocks a container, whatever its last attempt was.
_OWN_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "CreateContainerError",
        "PostStartHookError",
        "PreStartHookError",
        "PreCreateHookError",
    }
)


# -- initialization -------------------------------------------------------------------------------------------------


def _initializing(seen: Observation, views: list[ContainerView]) -> ContainerView | None:
    """The init container or sidecar that is next; None after initialization."""
    condition = seen.condition(INITIALIZED)
    if condition is not None and condition.status == TRUE:
        return None
    for view in views:
        if view.kind == "init" and not (view.status.state.terminated and view.status.state.terminated.exit_code == 0):
            return view
        if view.kind == "sidecar" and not view.status.started:
            return view
    return None


def _init_causes(seen: Observation, current: ContainerView, status: RuntimePodStatus) -> list[Cause]:
    inits = [view for view in seen.containers() if view.kind in ("init", "sidecar")]
    position = [view.name for view in inits].index(current.name) + 1
    after = "the regular containers start" if position == len(inits) else f"{inits[position].words} starts"
    order = (
        "Init containers run one after another in the order of the spec, each until it ends with 0; a sidecar lets "
        f"the next one begin when it has started. {upper_first(current.words)} is {position} of {len(inits)}; then "
        f"{after}."
    )
    cause = _container(seen, current, status)
    if cause is not None:
        where = f"The pod initializes ({position} of {len(inits)}). "
        return [_changed(cause, says=where + cause.says, rule=f"{order} {cause.rule}")]
    return [
        Cause(
            code="Initializing",
            container=current.name,
            says=f"The pod initializes: {current.words} runs, {position} of {len(inits)}; the others wait for it.",
            rule=order,
            ref="kuberuntime_container.go computeInitContainerActions",
            steps=(
                NextStep(
                    "exited",
                    f"when {current.name} ends with 0, {after}; with another code it is tried again by the restart "
                    "policy",
                    current.name,
                    certain=False,
                ),
                NextStep("started-up", "a sidecar counts as started", current.name, certain=False),
            ),
            remedies=(f"see what it does: kubectl logs -c {current.name}",),
            facts=(current.fact("state.running", "{}"), *seen.condition_facts(INITIALIZED)),
            unseen=("how long its program takes",),
        )
    ]


def _changed(cause: Cause, *, says: str, rule: str) -> Cause:
    return replace(cause, says=says, rule=rule)


# -- the end of a pod that ends by itself, and of a static pod -------------------------------------------------------


def _finishing(seen: Observation, actions: PodActions) -> Cause | None:
    """The cause if no container runs or will run but the phase is not terminal yet, or if only sidecars are left to
    stop."""
    if not actions.kill_pod or actions.create_sandbox:
        return None
    running = [view for view in seen.containers() if view.status.state.running is not None]
    ends = [
        f"{view.words} {how_it_ended(end)}"
        for view in seen.containers()
        if view.kind in ("regular", "init") and (end := newest_end(view)) is not None
    ]
    ends_now = not running and _phase_is_final(seen)
    left = f"; {', '.join(view.name for view in running)} is stopped" if running else ""
    return Cause(
        code="Finishing",
        says=f"The pod's work is over: {'; '.join(ends) or 'no container will run'}{left}.",
        rule=f"{upper_first('; '.join(actions.why))}. The kubelet stops the remaining containers, waits for a relist "
        "to confirm it, and only then writes the terminal phase.",
        ref="kuberuntime_manager.go computePodActions; status_manager.go mergePodStatus",
        steps=(
            NextStep(
                "ended",
                "the phase becomes Succeeded or Failed",
                window=Window(None, seen.now + 1 * SECOND) if ends_now else None,
                due="end" if ends_now else None,
                because="one relist after the last container ended, about a second",
            ),
            NextStep("exited", "sidecars end within the pod's grace", certain=False),
            NextStep("sandbox-lost", "the sandbox is stopped", certain=False),
        ),
        facts=tuple(
            view.fact("state.terminated.exitCode", end.exit_code)
            for view in seen.containers()
            if (end := newest_end(view)) is not None
        ),
    )


def _phase_is_final(seen: Observation) -> bool:
    """Whether a container that never ran, and will not, keeps the pod in its phase: getPhase counts it as waiting."""
    statuses = (*seen.pod.status.container_statuses, *seen.pod.status.init_container_statuses)
    phase = get_phase(seen.pod, statuses, pod_is_terminal=False, pod_has_initialized=True, gates=seen.gates)
    return phase in TERMINAL_PHASES


def _static_pod_stops(seen: Observation) -> Cause | None:
    """The cause if the kubelet stops a static pod, which has no deletionTimestamp: its file is gone or has another
    pod."""
    if not is_mirror_pod(seen.pod):
        return None
    killing = [e for e in seen.events_of("Killing") if e.message.startswith("Stopping container")]
    starts = [
        moment(view.status.state.running.started_at) or 0
        for view in seen.containers()
        if view.status.state.running is not None
    ]
    reported = bool(killing) and event_time(killing[-1]) >= max(starts, default=0)
    down = not has_sandbox(seen) and all(newest_end(view) is not None for view in seen.containers())
    if not reported and not down:
        return None
    return Cause(
        code="StaticPodStops",
        says="The kubelet stops this static pod: its manifest was removed from the node, or holds another pod now.",
        rule="A static pod runs as long as its file exists. The kubelet never sets a terminal phase in its mirror: "
        "when the containers have ended, it deletes the mirror with grace 0, and creates a new one if the file holds a "
        "pod again.",
        ref="kubelet.go HandlePodRemoves; kubelet_pods.go HandlePodCleanups (mirror pods)",
        steps=(
            NextStep("finalizing", "the mirror's grace becomes 0"),
            NextStep("exited", "its containers end within their grace", certain=False),
            NextStep("sandbox-lost", "its sandbox is stopped", certain=False),
            NextStep("sandbox-ready", "or, if only the sandbox was lost, the kubelet creates a new one", certain=False),
            NextStep("removed", "the object is removed", certain=False),
        ),
        remedies=("put the manifest back into the node's static pod directory",),
        facts=(Fact("metadata.annotations[kubernetes.io/config.mirror]", "set"),),
    )


def _sandbox_gone(seen: Observation, views: list[ContainerView]) -> Cause | None:
    """The cause if the pod had containers but its sandbox is gone: everything starts again."""
    if not any(view.status.state.running is not None or newest_end(view) is not None for view in views):
        return None
    cause = no_sandbox(seen)
    if cause.code != "SandboxNotReady":
        return cause
    return Cause(
        code="SandboxChanged",
        says="The pod's sandbox is gone or not ready: the kubelet creates a new one and starts the containers in it.",
        rule=f"{upper_first('; '.join(next_actions(seen).why))}. Init containers run again from the first.",
        ref="kuberuntime_manager.go podSandboxChanged",
        steps=(
            NextStep("sandbox-ready", "a new sandbox is ready"),
            NextStep("started", "the containers start in it", certain=False),
            NextStep("ended", "or, if the pod is being stopped, its phase becomes terminal", certain=False),
            NextStep("exited", "containers of the old sandbox end", certain=False),
        ),
        remedies=("if it happens repeatedly, check the runtime and the CNI plugins of the node",),
        facts=seen.condition_facts("PodReadyToStartContainers"),
    )


# -- nothing blocks it ----------------------------------------------------------------------------------------


def _running(seen: Observation, views: list[ContainerView]) -> Cause:
    regular = [view for view in views if view.kind in ("regular", "sidecar")]
    steps = [NextStep("exited", "when a program ends the relist notices it within about a second", certain=False)]
    facts = list(seen.condition_facts(READY))
    for view in regular:
        probe, running = view.spec.liveness_probe, view.status.state.running
        if probe is not None and running is not None:
            started = moment(running.started_at)
            steps.append(
                NextStep(
                    "started",
                    f"{view.words} is restarted after {probe.failure_threshold or 3} failures in a row of its "
                    f"liveness probe ({arithmetic(probe)})",
                    view.name,
                    Window(failure_window(probe, started).earliest, None) if started is not None else None,
                    certain=False,
                )
            )
        if view.spec.readiness_probe is not None:
            steps.append(
                NextStep(
                    "container-unready",
                    f"{view.words} is not ready after {view.spec.readiness_probe.failure_threshold or 3} failures in "
                    "a row of its readiness probe",
                    view.name,
                    certain=False,
                )
            )
        if runs_another_image(view):
            facts.append(view.fact("image", f"{view.status.image}, but the spec requires {view.spec.image}"))
            steps.append(
                NextStep(
                    "waits",
                    f"if the image of {view.words} was changed it is killed, and the new one is pulled",
                    view.name,
                    certain=False,
                )
            )
    for view in views:
        if view.kind == "ephemeral" and newest_end(view) is None:
            steps.append(NextStep("started", f"{view.words} starts together with the others", view.name, certain=False))
            steps.append(NextStep("waits", f"{view.words} appears in the status", view.name, certain=False))
    detail = restart_detail(seen)
    mirror = " It mirrors a static pod: only its file on the node changes it." if is_mirror_pod(seen.pod) else ""
    return Cause(
        code="Running",
        says=_running_words(seen, detail) + mirror,
        rule=f"The kubelet syncs a pod without a trigger every {seen.periods.resync_words}. The next sync: "
        f"{'; '.join(next_actions(seen).why) or 'all containers match the spec'}.",
        ref="pod_workers.go completeWork",
        steps=tuple(steps),
        remedies=("only its programs, its node, or a change or deletion of the pod",),
        facts=tuple(facts),
        detail=detail,
    )


def _running_words(seen: Observation, detail: str) -> str:
    ready = seen.condition(READY)
    is_ready = ready is not None and ready.status == TRUE
    state = "runs and is ready" if is_ready else "runs"
    if detail:
        return f"The pod {state} now, but it had {detail}."
    return f"The pod {state}{': nothing blocks it, nothing is due' if is_ready else '; nothing is due'}."


def runs_another_image(view: ContainerView) -> bool:
    """Whether the status names another repository than the spec. A different tag proves nothing: an image may have
    many."""
    wanted, present = view.spec.image, view.status.image
    if not present or view.status.state.running is None or present.startswith("sha256:") or "@" in wanted + present:
        return False
    return _repository(wanted) != _repository(present)


def _repository(image: str) -> str:
    return image_reference(image).rpartition(":")[0]


def image_reference(image: str) -> str:
    """Repository and tag, without the implied defaults of a name."""
    name = image if ":" in image.rpartition("/")[2] else f"{image}:latest"
    for prefix in ("index.docker.io/", "docker.io/", "library/"):
        name = name.removeprefix(prefix)
    return name


_STOPS = (
    NextStep("exited", "its containers end within the pod's grace period", certain=False),
    NextStep("unready", "the pod is no longer ready", certain=False),
    NextStep("sandbox-lost", "the sandbox is stopped", certain=False),
)


def _deadline(seen: Observation) -> tuple[Cause, ...]:
    """The cause if activeDeadlineSeconds has started."""
    limit, start = seen.pod.spec.active_deadline_seconds, moment(seen.pod.status.start_time)
    if limit is None or start is None:
        return ()
    due = start + limit * SECOND
    says = f"The pod may be active for {limit} s; then the kubelet stops it."
    over = due <= seen.now
    if over:
        says = f"The pod was active for longer than its {limit} s: the kubelet stops it."
    return (
        Cause(
            code=DEADLINE_EXCEEDED if over else "ActiveDeadline",
            says=says,
            rule="activeDeadlineSeconds counts from status.startTime. The sync loop checks it every second; a pod over "
            "its time is Failed with reason DeadlineExceeded.",
            ref="active_deadline.go",
            steps=(
                NextStep(
                    "ended",
                    "the pod fails with DeadlineExceeded",
                    window=Window(due, None),
                    because="startTime plus activeDeadlineSeconds",
                    certain=False,
                ),
                *(_STOPS if over else ()),
            ),
            remedies=("activeDeadlineSeconds can be shortened; for a longer one, create the pod again",),
            facts=(
                Fact("spec.activeDeadlineSeconds", str(limit)),
                Fact("status.startTime", str(seen.pod.status.start_time)),
            ),
        ),
    )

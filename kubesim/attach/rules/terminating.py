"""Pods that are being deleted: grace period, hooks, finalizers, volumes, a missing node, mirror pods.

Mirrors: pod_workers.go, kuberuntime_container.go killContainer, status/status_manager.go canBeDeleted; the API server's
graceful deletion
"""

from __future__ import annotations

from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import Observation, event_fact, event_time, moment
from kubesim.attach.explain.runtime_truth import has_sandbox
from kubesim.attach.explain.statement import Cause, Fact, NextStep, Window, listed
from kubesim.attach.explain.timing import kill_deadline
from kubesim.attach.explain.tolerances import DURATIONS, RELIST, TRUNCATION
from kubesim.attach.rules.node import node_problem

FINALIZERS = "Finalizers"
LATE = DURATIONS["kill"] + RELIST  # after the due time: then something blocks the deletion


def terminating(seen: Observation) -> tuple[Cause, ...]:
    """The cause for a pod that has a deletionTimestamp."""
    meta = seen.pod.metadata
    problem = node_problem(seen)
    if is_mirror_pod(seen.pod):
        causes: tuple[Cause, ...] = (_mirror(seen),)
    elif meta.deletion_grace_period_seconds == 0 or not seen.pod.spec.node_name:
        causes = (_finalizers(seen) if meta.finalizers else _removing(seen),)
    elif seen.pod.status.phase in TERMINAL_PHASES:
        causes = (_cleaning_up(seen),)
    elif seen.pod.status.start_time is None:
        causes = (_never_seen(seen),)
    elif _acknowledged(seen):
        causes = (_stopping(seen),)
    else:
        causes = (_not_acknowledged(seen),)
    if meta.finalizers and meta.deletion_grace_period_seconds != 0:
        causes = (*causes, _finalizers(seen))
    return (problem, *causes) if problem is not None else causes


def _deletion_facts(seen: Observation) -> tuple[Fact, ...]:
    meta = seen.pod.metadata
    return (
        Fact("metadata.deletionTimestamp", str(meta.deletion_timestamp)),
        Fact("metadata.deletionGracePeriodSeconds", str(meta.deletion_grace_period_seconds)),
    )


def _acknowledged(seen: Observation) -> bool:
    observed, generation = seen.pod.status.observed_generation, seen.pod.metadata.generation
    return not observed or observed >= generation


def _not_acknowledged(seen: Observation) -> Cause:
    # A worker in the middle of a pull or a mount handles the deletion afterwards.
    busy = any(view.status.state.waiting is not None for view in seen.containers()) or not seen.pod.status.conditions
    return Cause(
        code="DeletionNotSeen",
        says="The pod is marked for deletion; its kubelet has not acknowledged that in a status yet.",
        rule="The kubelet sees the deletionTimestamp by its watch and stops the pod's containers. Its grace counts "
        "from that moment. A sync in progress is not interrupted: containers it was about to start still start, "
        "and are stopped then.",
        ref="pod_workers.go UpdatePod",
        steps=(
            NextStep(
                "acknowledged",
                "the kubelet writes the generation it has seen",
                window=None if busy else Window(None, seen.now),
                because="immediately on a healthy node",
                due=None if busy else "acknowledge",
            ),
            NextStep("ended", "containers end by themselves on SIGTERM, or are killed after the grace", certain=False),
            NextStep("sandbox-ready", "a sync in progress continues", certain=False),
            NextStep("started", "a container that was about to start still does", certain=False),
            NextStep("exited", "containers end", certain=False),
            NextStep("sandbox-lost", "the sandbox is stopped", certain=False),
        ),
        remedies=("nothing, if it was just deleted; if it lasts, the kubelet of the node does not answer",),
        facts=(
            *_deletion_facts(seen),
            Fact("metadata.generation", str(seen.pod.metadata.generation)),
            Fact("status.observedGeneration", str(seen.pod.status.observed_generation)),
        ),
    )


def _never_seen(seen: Observation) -> Cause:
    return Cause(
        code="DeletedBeforeSeen",
        says="The pod was deleted before its kubelet wrote a status.",
        rule="A kubelet that first sees a pod with a deletionTimestamp ends it without starting a container. "
        "If a sync is in "
        "progress, the kubelet finishes the sync, and then stops the containers that it started.",
        ref="pod_workers.go UpdatePod",
        steps=(
            NextStep("accepted", "the kubelet writes a first status"),
            NextStep("ended", "or a last one immediately", certain=False),
            NextStep("removed", "and the object is removed", certain=False),
        ),
        remedies=("if it lasts, the kubelet of the node is down: the object stays until it is back",),
        facts=_deletion_facts(seen),
    )


def kill_begun(seen: Observation) -> Window:
    """When the kubelet began to stop the containers: the time of the Event, otherwise between the deletion and now."""
    killing = [e for e in seen.events_of("Killing") if e.message.startswith("Stopping container")]
    if killing:
        first = event_time(killing[0])
        return Window(first, first + TRUNCATION)
    meta = seen.pod.metadata
    deadline = moment(meta.deletion_timestamp)
    asked = None if deadline is None else deadline - (meta.deletion_grace_period_seconds or 0) * SECOND
    return Window(asked, None if asked is None else asked + TRUNCATION)


def _deleted_again(seen: Observation, begun: Window) -> bool:
    """Whether an earlier deletion stopped the containers: they were signalled before the object's deletion time. The
    API server stores the shorter grace period; the containers may still have the first one."""
    meta = seen.pod.metadata
    deadline = moment(meta.deletion_timestamp)
    if deadline is None or begun.latest is None:
        return False
    return begun.latest < deadline - (meta.deletion_grace_period_seconds or 0) * SECOND


def _stopping(seen: Observation) -> Cause:
    running = [view for view in seen.containers() if view.status.state.running is not None]
    if not running:
        return _nothing_runs(seen)
    begun = kill_begun(seen)
    windows = [kill_deadline(seen.pod, view.spec, begun) for view in running]
    latest = [window.latest for window in windows if window.latest is not None]
    window = Window(begun.earliest, max(latest) if latest and not _deleted_again(seen, begun) else None)
    names, many = listed([view.name for view in running]), len(running) > 1
    hooks = [view.name for view in running if view.spec.lifecycle is not None and view.spec.lifecycle.pre_stop]
    grace = seen.pod.metadata.deletion_grace_period_seconds
    late = window.latest is not None and seen.now > window.latest + LATE
    says = f"The pod is being deleted: {names} got its stop signal and has {grace} s to end by itself."
    if many:
        says = f"The pod is being deleted: {names} got their stop signals and have {grace} s to end by themselves."
    if hooks:
        says = f"The pod is being deleted: first the preStop hook of {', '.join(hooks)} runs, all within {grace} s."
    if late:
        says = f"The pod should have been stopped by now: {names} still counts as running past its grace of {grace} s."
    unseen = ("whether the hook is done, and what the program does with the signal",)
    if late:
        unseen = ("why: the runtime may hang, the process may be stuck in the kernel, or the kubelet may be down",)
    failing = seen.newest_event("FailedKillPod", "FailedPreStopHook", "ExceededGracePeriod")
    return Cause(
        code="TerminationOverdue" if late else "GracePeriod",
        says=says,
        rule=(
            "preStop hooks run first, within the grace period. Then the containers get their stop signal. Processes "
            "that still run at the end of the grace period are killed (never before 2 s). Sidecars are stopped "
            "after the regular containers. When all have ended the kubelet writes a terminal phase."
        ),
        ref="kuberuntime_container.go killContainer",
        steps=(
            NextStep(
                "ended",
                f"{names} {'have' if many else 'has'} ended and the phase is Succeeded or Failed",
                window=window,
                because=f"the grace of {grace} s counts from the kill, not from the deletion",
                due="kill",
            ),
            NextStep("exited", "single containers may end before", certain=False),
            NextStep("sandbox-lost", "the sandbox is stopped with them", certain=False),
        ),
        remedies=(
            "a program that ends on SIGTERM ends the wait",
            "kubectl delete --grace-period=N may shorten it; --force deletes the object before the containers stop",
        ),
        facts=(
            *_deletion_facts(seen),
            *((event_fact(failing),) if failing is not None else ()),
            *(
                view.fact("state.running.startedAt", view.status.state.running.started_at)
                for view in running
                if view.status.state.running is not None
            ),
        ),
        unseen=unseen,
    )


def _nothing_runs(seen: Observation) -> Cause:
    sandbox_exists = has_sandbox(seen)
    busy = any(view.status.state.waiting is not None for view in seen.containers())
    failing = seen.newest_event("FailedKillPod")
    says = "The pod is being deleted and none of its containers runs: "
    if failing is not None:
        says += f"its sandbox could not be stopped: {failing.message}"
    else:
        says += "its sandbox is stopped, then " if sandbox_exists else ""
        says += "the last status is written."
    return Cause(
        code="FailedKillPod" if failing is not None else "Stopping",
        says=says,
        rule="After its containers the sandbox is stopped (CNI takes the network down); the next relist confirms it, "
        "and the kubelet writes a terminal phase. A container that never ran is shown as ContainerStatusUnknown.",
        ref="kubelet.go SyncTerminatingPod, SyncTerminatedPod",
        steps=(
            NextStep("sandbox-lost", "PodReadyToStartContainers becomes False", certain=sandbox_exists),
            NextStep(
                "ended",
                "the phase becomes Failed or Succeeded",
                window=None if busy else Window(None, seen.now),
                because="with the next relist, about a second",
                due=None if busy else "end",
            ),
            NextStep("sandbox-ready", "a sync in progress may still create the sandbox", certain=False),
            NextStep("started", "and start the containers it was about to start", certain=False),
        ),
        remedies=("if it lasts, the runtime cannot stop the sandbox (FailedKillPod) or the kubelet is down",),
        facts=(*_deletion_facts(seen), *((event_fact(failing),) if failing is not None else ())),
    )


def _cleaning_up(seen: Observation) -> Cause:
    since = [moment(c.last_transition_time) for c in seen.pod.status.conditions]
    known = [time for time in since if time is not None]
    late = bool(known) and seen.now > max(known) + LATE
    volumes = [str(volume.get("name")) for volume in seen.pod.spec.volumes]
    held = f"most likely its volumes ({', '.join(volumes)}) are not unmounted" if volumes else "its cgroup still exists"
    unmount = seen.newest_event("FailedUnMount", "FailedUnmapDevice", "FailedKillPod")
    return Cause(
        code="VolumesNotUnmounted" if late else "CleaningUp",
        says=f"The pod has ended but its object still exists: {held}, or the kubelet is down."
        if late
        else "The pod has ended; the kubelet cleans up and then removes the object.",
        rule="The kubelet removes the object (DELETE with grace 0) when the phase is terminal, volumes are unmounted "
        "and the cgroup is gone. It checks every 100 ms and reports nothing while it waits.",
        ref="status/status_manager.go canBeDeleted; kubelet.go SyncTerminatedPod",
        steps=(
            NextStep(
                "finalizing",
                "the object's grace becomes 0",
                window=None if volumes else Window(None, seen.now),
                because="soon, when the volumes are unmounted and the cgroup is removed",
                due=None if volumes else "clean-up",
            ),
            NextStep("removed", "and it is removed", certain=False),
        ),
        remedies=(
            "see on the node what still holds the volumes; the kubelet's log names them",
            (
                "kubectl delete --force --grace-period=0 removes the object; its resources on the node stay "
                "until they are released"
            ),
        ),
        facts=(
            *_deletion_facts(seen),
            Fact("status.phase", seen.pod.status.phase),
            *((event_fact(unmount),) if unmount is not None else ()),
        ),
        unseen=("which volume is still mounted: neither the status nor Events show it",) if late else (),
    )


def _finalizers(seen: Observation) -> Cause:
    finalizers = seen.pod.metadata.finalizers
    return Cause(
        code=FINALIZERS,
        says=f"The object cannot be removed before its finalizers: {', '.join(finalizers)}.",
        rule="The API server keeps an object that is to be deleted until metadata.finalizers is empty. The kubelet "
        "has no part in it.",
        ref="apiserver registry/generic/registry/store.go Delete",
        steps=(NextStep("removed", "when the last finalizer is removed the object is removed", certain=False),),
        remedies=tuple(f"the controller behind {name} has to finish; check that it runs" for name in finalizers),
        facts=(*_deletion_facts(seen), Fact("metadata.finalizers", ", ".join(finalizers))),
    )


def _removing(seen: Observation) -> Cause:
    return Cause(
        code="Removing",
        says="Nothing blocks the deletion: the API server removes the object.",
        rule="With grace 0 and no finalizers the object is deleted immediately. After a forced deletion containers may "
        "still run: the kubelet stops them when it sees that the pod is gone.",
        ref="apiserver registry/generic/registry/store.go Delete",
        steps=(
            NextStep(
                "removed", "the object is removed", window=Window(None, seen.now), because="at once", due="clean-up"
            ),
        ),
        facts=_deletion_facts(seen),
    )


def _mirror(seen: Observation) -> Cause:
    return Cause(
        code="MirrorPod",
        says="The pod mirrors a static pod of its node, and a client deletes the mirror: that stops nothing. The "
        "kubelet removes it and creates a new one while the file exists.",
        rule="Only the file or URL on the node controls a static pod. A mirror that is being deleted or "
        "differs from the file is deleted with grace 0 and created again by the next sync.",
        ref="kubelet.go tryReconcileMirrorPods",
        steps=(
            NextStep(
                "finalizing",
                "the kubelet deletes the mirror with grace 0",
                certain=seen.pod.metadata.deletion_grace_period_seconds != 0,
            ),
            NextStep("removed", "the object is removed", certain=seen.pod.metadata.deletion_grace_period_seconds == 0),
        ),
        remedies=("to stop the pod remove its manifest from the node's static pod directory",),
        facts=_deletion_facts(seen),
    )

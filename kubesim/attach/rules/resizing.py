"""In-place resize: requested, deferred, infeasible, in progress.

Mirrors: allocation/allocation_manager.go, status/status_manager.go (resize conditions)
"""

from __future__ import annotations

from kubesim.api.pods.pod_conditions import POD_RESIZE_IN_PROGRESS, POD_RESIZE_PENDING, TRUE
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.statement import Cause, Fact, NextStep, Window
from kubesim.kubelet.status.resize_conditions import INFEASIBLE


def resizing(seen: Observation) -> tuple[Cause, ...]:
    """The causes from the resize conditions; two conditions can be true at the same time."""
    causes = []
    pending, progress = seen.condition(POD_RESIZE_PENDING), seen.condition(POD_RESIZE_IN_PROGRESS)
    facts = (*seen.condition_facts(POD_RESIZE_PENDING, POD_RESIZE_IN_PROGRESS), *_amounts(seen))
    if pending is not None and pending.status == TRUE:
        impossible = pending.reason == INFEASIBLE
        causes.append(
            Cause(
                code=f"Resize{pending.reason or 'Pending'}",
                says="A resize was requested and "
                f"{'is not possible on this node' if impossible else 'waits for room'}: "
                f"{pending.message or pending.reason}.",
                rule="A resize that the node could never hold is Infeasible and not tried again until the pod is "
                "changed."
                if impossible
                else "A resize that does not fit now is Deferred: it is checked again whenever resources on the node "
                "become free, and at least every 3 minutes, higher priorities and earlier requests first.",
                ref="allocation/allocation_manager.go retryPendingResizes",
                steps=(
                    NextStep(
                        "resizing",
                        "when it fits it is allocated and PodResizeInProgress appears",
                        certain=False,
                        because="on a release of resources, or within 3 minutes" if not impossible else "",
                    ),
                ),
                remedies=("request less, or move the pod to a larger node",)
                if impossible
                else ("free resources on the node, or request less",),
                facts=facts,
            )
        )
    if progress is not None and progress.status == TRUE:
        failed = progress.reason == "Error"
        causes.append(
            Cause(
                code="ResizeError" if failed else "ResizeInProgress",
                says=f"A resize is being carried out{': ' + progress.message if progress.message else ''}.",
                rule="The resize is allocated; the next sync applies it to cgroups and containers, and the "
                "condition is removed when the runtime reports the new amounts. A container with the resizePolicy "
                "RestartContainer restarts."
                + (" An error is retried with every sync, 10 to 15 s apart." if failed else ""),
                ref="kuberuntime_manager.go doPodResizeAction",
                steps=(
                    NextStep(
                        "resized",
                        "PodResizeInProgress is removed, and the Event ResizeCompleted is emitted",
                        certain=not failed,
                        window=None if failed else Window(seen.now, None),
                    ),
                ),
                remedies=("read the condition's message: the runtime refused",) if failed else (),
                facts=facts,
            )
        )
    return tuple(causes)


def resize_not_seen(seen: Observation) -> Cause | None:
    """The cause if the spec requests other resources than the status shows, and the kubelet has not reacted yet."""
    if seen.condition(POD_RESIZE_PENDING) is not None or seen.condition(POD_RESIZE_IN_PROGRESS) is not None:
        return None
    meta, status = seen.pod.metadata, seen.pod.status
    if not status.observed_generation or status.observed_generation >= meta.generation:
        return None
    return Cause(
        code="NotObserved",
        says=f"The pod was changed (generation {meta.generation}); the kubelet has acted on generation "
        f"{status.observed_generation} so far.",
        rule="The kubelet handles a change with its next update of the pod and writes the generation it has seen.",
        ref="status/status_manager.go (observedGeneration)",
        steps=(
            NextStep("acknowledged", "the kubelet writes observedGeneration", because="immediately on a healthy node"),
            NextStep("resizing", "a change of resources is admitted as a resize", certain=False),
            NextStep("exited", "a new image makes the container restart", certain=False),
        ),
        facts=(
            Fact("metadata.generation", str(meta.generation)),
            Fact("status.observedGeneration", str(status.observed_generation)),
        ),
    )


def _amounts(seen: Observation) -> tuple[Fact, ...]:
    facts = []
    for view in seen.containers():
        wanted, given = view.spec.resources, view.status.resources
        if given is not None and (wanted.requests != given.requests or wanted.limits != given.limits):
            facts.append(Fact(f"{view.spec_path}.resources", f"requests {wanted.requests} limits {wanted.limits}"))
            facts.append(view.fact("resources", f"requests {given.requests} limits {given.limits}"))
    return tuple(facts)

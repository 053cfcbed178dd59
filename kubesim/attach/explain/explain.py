"""Explains one observation of a pod.

Finds the stage of the pod's life, and applies the rules of that stage.
"""

from __future__ import annotations

from kubesim.api.pods.phases import SUCCEEDED, TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import INITIALIZED, READY, TRUE
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.statement import Cause, Stage, Statement
from kubesim.attach.rules.ended import ended
from kubesim.attach.rules.living import living
from kubesim.attach.rules.node import NODE_GONE, has_no_kubelet, node_problem
from kubesim.attach.rules.scheduling import unscheduled
from kubesim.attach.rules.starting import arriving
from kubesim.attach.rules.terminating import FINALIZERS, terminating
from kubesim.values import replace


def explain(seen: Observation) -> Statement:
    """The statement about a pod: its stage, the rules that keep it there, and what happens next and when."""
    stage, causes = _causes(seen)
    if has_no_kubelet(seen):
        gone = any(cause.code == NODE_GONE for cause in causes)
        # Without a node no kubelet acts on the pod; only a finalizer can still hold the object.
        causes = tuple(_without_promise(one) for one in causes if not gone or one.code in (NODE_GONE, FINALIZERS))
    meta = seen.pod.metadata
    return Statement(meta.namespace, meta.name, meta.uid, seen.pod.spec.node_name, seen.now, stage, causes)


def _causes(seen: Observation) -> tuple[Stage, tuple[Cause, ...]]:
    pod, status = seen.pod, seen.pod.status
    if pod.metadata.deletion_timestamp is not None:
        return "terminating", terminating(seen)
    if status.phase in TERMINAL_PHASES:
        return ("succeeded" if status.phase == SUCCEEDED else "failed"), (ended(seen),)
    if not pod.spec.node_name:
        return "unscheduled", (unscheduled(seen),)
    problem = node_problem(seen)
    above = () if problem is None else (problem,)
    if not is_accepted(seen):
        return "new", (*above, arriving(seen))
    causes = living(seen)
    return _stage(seen, causes), (*above, *causes)


def _without_promise(cause: Cause) -> Cause:
    """The cause without certain or due steps, because no kubelet acts on the pod."""
    steps = tuple(replace(step, certain=False, window=None, because="", due=None) for step in cause.steps)
    return replace(cause, steps=steps)


def is_accepted(seen: Observation) -> bool:
    """Whether the kubelet has written a status: only the kubelet sets startTime and these conditions."""
    return seen.pod.status.start_time is not None or seen.condition(READY) is not None


def _stage(seen: Observation, causes: tuple[Cause, ...]) -> Stage:
    codes = {cause.code for cause in causes}
    if seen.pod.status.phase == "Unknown":
        return "unknown"
    if "Finishing" in codes:
        return "finishing"
    initialized, ready = seen.condition(INITIALIZED), seen.condition(READY)
    if ready is not None and ready.status == TRUE:
        return "ready"
    if initialized is not None and initialized.status != TRUE:
        return "initializing"
    return "running" if seen.pod.status.phase == "Running" or is_mirror_pod(seen.pod) else "starting"

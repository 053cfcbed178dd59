"""Pods that the kubelet ends to protect its node: evicted, or preempted by a critical pod.

The Event is the most reliable sign. The kubelet computes the phase again when the containers have ended: if a program
exits with 0 on SIGTERM, the phase becomes Succeeded and the reason Evicted is lost.

Mirrors: eviction/eviction_manager.go evictPod; preemption/preemption.go; kubelet_pods.go generateAPIPodStatus
"""

from __future__ import annotations

from kubesim.api.event import Event
from kubesim.api.pods.phases import SUCCEEDED
from kubesim.api.pods.pod_conditions import DISRUPTION_TARGET
from kubesim.attach.explain.observation import Observation, event_fact, event_time, moment
from kubesim.attach.explain.statement import Cause, Fact, NextStep

EVICTED, PREEMPTED = "Evicted", "Preempted"
_REASONS = {EVICTED: EVICTED, "Preempting": PREEMPTED}  # reason of an Event -> reason of a status

_RULES = {
    EVICTED: "When a threshold of memory, disk or process ids is crossed the kubelet evicts one pod at a time: first "
    "those that use more than they requested, by priority, then by how far they exceed it. A pod that exceeds "
    "its own size limit "
    "is evicted for that reason alone.",
    PREEMPTED: "If a critical pod does not fit on its node, the kubelet stops pods of lower priority.",
}
_REFS = {EVICTED: "eviction/eviction_manager.go synchronize", PREEMPTED: "preemption/preemption.go"}
_LOST = (
    " The status does not say so: the phase was computed again from the exit codes, and all containers exited with 0 "
    "when they were stopped, which makes it Succeeded."
)


def ended_by_kubelet(seen: Observation, facts: tuple[Fact, ...], owner: str) -> Cause | None:
    """The cause for a pod with a terminal phase; None unless the kubelet evicted or preempted it."""
    status, event = seen.pod.status, _event(seen)
    code = _REASONS.get(status.reason) or (_REASONS[event.reason] if event is not None else None)
    if code is None:
        return None
    message = (status.message or (event.message if event is not None else "")).strip()
    lost = _LOST if status.phase == SUCCEEDED else " An evicted pod gets phase Failed." if code == EVICTED else ""
    reported = () if event is None else (event_fact(event),)
    return Cause(
        code=code,
        says=_says(code, "evicted the pod", "stopped the pod to make room for a critical pod", message),
        rule=f"{_RULES[code]}{lost} A terminal phase is final: the pod is not started again.",
        ref=_REFS[code] + ("; kubelet_pods.go generateAPIPodStatus" if lost is _LOST else ""),
        remedies=(*_remedies(code, message), owner),
        facts=(*facts, *reported, *seen.condition_facts(DISRUPTION_TARGET)),
    )


def being_ended_by_kubelet(seen: Observation) -> Cause | None:
    """The cause for a pod whose containers are still stopping; None unless an Event says that the kubelet ends it."""
    event = _event(seen)
    if event is None or _started_after(seen, event_time(event)):
        return None
    code = _REASONS[event.reason]
    return Cause(
        code=code,
        says=_says(
            code, "is evicting the pod", "is stopping the pod to make room for a critical pod", event.message.strip()
        ),
        rule=f"{_RULES[code]} Its containers are stopped and not started again; then the phase becomes terminal.",
        ref=_REFS[code],
        steps=(
            NextStep("ended", "the phase becomes Failed, or Succeeded if every container exits with 0", certain=False),
            NextStep("exited", "its containers stop within their grace period", certain=False),
            NextStep("sandbox-lost", "the sandbox is stopped", certain=False),
            NextStep("unready", "the pod is no longer ready", certain=False),
        ),
        remedies=_remedies(code, event.message),
        facts=(event_fact(event), *seen.condition_facts(DISRUPTION_TARGET)),
    )


def _says(code: str, evicts: str, preempts: str, message: str) -> str:
    if code == PREEMPTED:
        return f"The kubelet {preempts}."
    return f"The kubelet {evicts}: {message or 'its node was short of a resource.'}"


def _event(seen: Observation) -> Event | None:
    """The Event of the kubelet. Autoscalers use the same reason for evictions through the API."""
    found = [e for e in seen.events_of(*_REASONS) if (e.source.component or e.reporting_component) in ("kubelet", "")]
    return found[-1] if found else None


def _started_after(seen: Observation, said_at: int) -> bool:
    return any(
        view.status.state.running is not None and (moment(view.status.state.running.started_at) or 0) > said_at
        for view in seen.containers()
    )


def _remedies(code: str, message: str) -> tuple[str, ...]:
    if code == PREEMPTED:
        return ("give the pod a higher priority, or make room on the node",)
    if "limit" in message.lower():
        return ("raise the size limit, or make the program write less",)
    return ("request what the pod really uses: pods within their requests are evicted last", "relieve the node")

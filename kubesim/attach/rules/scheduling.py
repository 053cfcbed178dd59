"""Pods without a node, which no kubelet knows. These rules are not the kubelet's, but users ask about such pods first.

Mirrors: pkg/scheduler (PodScheduled condition), scheduling gates
"""

from __future__ import annotations

from kubesim.api.pods.pod_conditions import POD_SCHEDULED
from kubesim.attach.explain.observation import Observation, event_fact
from kubesim.attach.explain.statement import Cause, Fact, NextStep


def unscheduled(seen: Observation) -> Cause:
    """The cause for a pod without a node: gated, rejected by every node, or not handled by the scheduler yet."""
    spec = seen.pod.spec
    gates = [str(gate.get("name")) for gate in spec.scheduling_gates]
    condition = seen.condition(POD_SCHEDULED)
    facts = [Fact("spec.nodeName", '""'), *seen.condition_facts(POD_SCHEDULED)]
    if gates:
        return Cause(
            code="SchedulingGated",
            says=f"The scheduler skips this pod: it has scheduling gates ({', '.join(gates)}).",
            rule="A pod with spec.schedulingGates is not scheduled until all of them were removed.",
            ref="pkg/scheduler/framework/plugins/schedulinggates",
            steps=(NextStep("scheduled", "when all gates are removed the scheduler looks for a node", certain=False),),
            remedies=tuple(f"the controller that set gate {gate} has to remove it" for gate in gates),
            facts=(*facts, Fact("spec.schedulingGates", ", ".join(gates))),
        )
    if condition is not None and condition.status == "False":
        event = seen.newest_event("FailedScheduling")
        return Cause(
            code=condition.reason or "Unschedulable",
            says=f"No node takes this pod: {condition.message or condition.reason}",
            rule="The scheduler found no node that fits and tries again when the cluster changes in a way that could "
            "help, at least every 5 minutes. No kubelet knows the pod yet.",
            ref="pkg/scheduler/schedule_one.go handleSchedulingFailure",
            steps=(
                NextStep("scheduled", "when a node fits it is bound", certain=False),
                NextStep("unschedulable", "the scheduler may report other causes", certain=False),
            ),
            remedies=("make room, add a node, or request less: the message names what is missing",),
            facts=(*facts, *((event_fact(event),) if event is not None else ())),
        )
    return Cause(
        code="NotScheduled",
        says="The pod has no node yet: the scheduler has not handled it.",
        rule="A scheduler binds a pod by setting spec.nodeName; only then does a kubelet see it.",
        ref="pkg/scheduler/schedule_one.go",
        steps=(
            NextStep("scheduled", "the scheduler binds it to a node"),
            NextStep("unschedulable", "the scheduler reports that no node fits", certain=False),
        ),
        remedies=(f"check that the scheduler {spec.scheduler_name or 'default-scheduler'!r} runs",),
        facts=tuple(facts),
    )

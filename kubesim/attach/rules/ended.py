"""Pods that have ended: rejected, evicted, shut down with their node, past their deadline, completed, failed.

Mirrors: kubelet.go rejectPod, eviction/eviction_manager.go, nodeshutdown, active_deadline.go, kubelet_pods.go getPhase
"""

from __future__ import annotations

from kubesim.api.pods.phases import SUCCEEDED
from kubesim.api.pods.pod_conditions import DISRUPTION_TARGET
from kubesim.api.pods.sidecars import ALWAYS
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.runtime_truth import newest_end
from kubesim.attach.explain.statement import Cause, Fact
from kubesim.attach.rules.crashes import end_facts, how_it_ended
from kubesim.attach.rules.evictions import ended_by_kubelet
from kubesim.kubelet.status.generate.active_deadline import DEADLINE_EXCEEDED

REJECTED = "Pod was rejected: "
_REJECTIONS = {
    "NodeAffinity": ("the node does not match its nodeSelector or affinity", "label the node, or change the selector"),
    "NodeName": ("it names another node", "correct spec.nodeName"),
    "NodePorts": ("a host port of the pod is in use on the node", "use another host port, or another node"),
    "TaintToleration": ("the node has a NoExecute taint it does not tolerate", "remove the taint or tolerate it"),
    "NodeShutdown": ("the node is shutting down", "a controller creates a new pod elsewhere"),
    "UnexpectedAdmissionError": ("a device or resource manager could not serve it", "read the device plugin's log"),
    "TopologyAffinityError": (
        "its resources cannot be allocated from aligned NUMA nodes",
        "request less, or use another topology manager policy",
    ),
    "SMTAlignmentError": ("its CPUs are not a whole number of cores", "request whole cores"),
    "PodOSNotSupported": ("it is built for another operating system", "correct spec.os or the node selector"),
    "PodOSSelectorNodeLabelDoesNotMatch": ("its OS label does not match the node", "correct the label"),
    "AppArmor": ("the node cannot enforce its AppArmor profile", "use another node, or correct the profile"),
    "Evicted": ("the node is under pressure", "relieve the node, or use another one"),
    "VolumeAttachmentLimitExceeded": ("the node cannot attach as many volumes", "use another node"),
}


def ended(seen: Observation) -> Cause:
    """A terminal phase, without a deletion."""
    status = seen.pod.status
    by_name = status.reason in _REJECTIONS and status.reason != "Evicted"
    if status.message.startswith(REJECTED) or by_name or status.reason.startswith("OutOf"):
        return _rejected(seen)
    by_kubelet = ended_by_kubelet(seen, _reason_facts(seen), _owner(seen))
    if by_kubelet is not None:
        return by_kubelet
    if status.reason == DEADLINE_EXCEEDED:
        deadline = seen.pod.spec.active_deadline_seconds
        return _failed_with_reason(
            seen,
            DEADLINE_EXCEEDED,
            f"was stopped because it was active for longer than its activeDeadlineSeconds of {deadline}",
            "spec.activeDeadlineSeconds counts from status.startTime, including restarts.",
            "active_deadline.go",
        )
    if status.reason in ("Terminated", "NodeShutdown", "Shutdown"):
        return _failed_with_reason(
            seen,
            "NodeShutdown",
            "was stopped because its node was shut down",
            "On shutdown the kubelet stops its pods, critical ones last, and marks them Failed.",
            "nodeshutdown/nodeshutdown_manager_linux.go",
        )
    if status.phase == SUCCEEDED:
        return _stopped(seen) if _would_restart(seen) else _completed(seen)
    return _failed(seen)


def _rejected(seen: Observation) -> Cause:
    status = seen.pod.status
    reason = status.reason
    lacks, remedy = _REJECTIONS.get(reason, ("the node could not run it", "make room on the node, or use another one"))
    if reason.startswith("OutOf"):
        what = reason.removeprefix("OutOf")
        lacks, remedy = f"the node does not have enough {what} left", f"request less {what}, or use a node with more"
    return Cause(
        code=f"Rejected{reason}",
        says=f"The kubelet rejected the pod: {lacks} ({status.message.removeprefix(REJECTED).strip()}).",
        rule="A pod bound to the node is admitted only if the node has enough free resources at that time. A "
        "rejected one gets "
        "phase Failed, is never started and never synced again.",
        ref="kubelet.go rejectPod; lifecycle/predicate.go",
        remedies=(remedy, _owner(seen)),
        facts=_reason_facts(seen),
    )


def _failed_with_reason(seen: Observation, code: str, what: str, rule: str, ref: str) -> Cause:
    return Cause(
        code=code,
        says=f"The pod {what}.",
        rule=f"{rule} Phase Failed is final.",
        ref=ref,
        remedies=(_owner(seen),),
        facts=(*_reason_facts(seen), *seen.condition_facts(DISRUPTION_TARGET)),
    )


def _would_restart(seen: Observation) -> bool:
    """Whether containers that exit with 0 are restarted: such a pod never completes."""
    own = any(container.restart_policy for container in seen.pod.spec.containers)
    return seen.pod.spec.restart_policy in ("", ALWAYS) and not own


def _stopped(seen: Observation) -> Cause:
    return Cause(
        code="StoppedByKubelet",
        says="The kubelet ended the pod, and every container exited with 0. The status does not contain the cause: an "
        "eviction, a preemption or a shutdown of the node.",
        rule="With restartPolicy Always the kubelet restarts containers that exit with 0, so such a pod never "
        "completes by itself. When the kubelet ends it, the phase follows from the exit codes, and the reason is lost. "
        "Succeeded is final.",
        ref="kubelet_pods.go getPhase, generateAPIPodStatus",
        remedies=("give its Events, if they have not expired: they name the reason", _owner(seen)),
        facts=(
            Fact("spec.restartPolicy", ALWAYS),
            *_reason_facts(seen),
            *_container_facts(seen),
            *seen.condition_facts(DISRUPTION_TARGET),
        ),
        unseen=("why the kubelet ended it: Events expire after an hour",),
    )


def _completed(seen: Observation) -> Cause:
    return Cause(
        code="Completed",
        says="The pod completed: every container ended with exit code 0 and is not started again.",
        rule="When all containers have ended with exit code 0 and will not be restarted, the phase is "
        "Succeeded. This is final. The "
        "object and the dead containers (for their logs) stay until the pod is deleted.",
        ref="kubelet_pods.go getPhase",
        remedies=(_owner(seen), "the pod garbage collector removes finished pods beyond its threshold (12500)"),
        facts=_container_facts(seen),
    )


def _failed(seen: Observation) -> Cause:
    said = []
    oom = False
    for view in seen.containers():
        end = newest_end(view)
        if end is not None and (end.exit_code != 0 or end.reason == "OOMKilled"):
            said.append(f"{view.words} {how_it_ended(end)}")
            oom = oom or end.reason == "OOMKilled"
    why = "; ".join(said) or seen.pod.status.message or seen.pod.status.reason or "no container reports why"
    return Cause(
        code="OOMKilled" if oom else seen.pod.status.reason or "Failed",
        says=f"The pod failed: {why}.",
        rule="When all containers have ended and will not be restarted, and one has a "
        "nonzero exit code, the phase is Failed. This is final.",
        ref="kubelet_pods.go getPhase",
        remedies=(
            "raise resources.limits.memory, or make the program use less"
            if oom
            else "read why: kubectl logs on the pod, as long as it exists",
            _owner(seen),
        ),
        facts=(*_reason_facts(seen), *_container_facts(seen)),
    )


def _owner(seen: Observation) -> str:
    owner = next((o for o in seen.pod.metadata.owner_references if o.controller), None)
    if owner is None:
        return "no controller owns the pod: it stays until it is deleted, and nothing replaces it"
    if owner.kind == "Node":
        return "the pod mirrors a static pod: only its file on the node controls it"
    return f"{owner.kind} {owner.name} owns the pod and decides whether to replace it"


def _reason_facts(seen: Observation) -> tuple[Fact, ...]:
    status = seen.pod.status
    facts = [Fact("status.phase", status.phase)]
    if status.reason:
        facts.append(Fact("status.reason", status.reason))
    if status.message:
        facts.append(Fact("status.message", status.message))
    return tuple(facts)


def _container_facts(seen: Observation) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    for view in seen.containers():
        end = newest_end(view)
        if end is not None and view.kind == "regular":
            facts += end_facts(view, end)[:2]
    return tuple(facts)

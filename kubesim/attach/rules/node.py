"""Pods whose node is gone, or whose kubelet does not report: the kubelet does not act on them.

Mirrors: pkg/controller/nodelifecycle, pkg/controller/podgc
"""

from __future__ import annotations

from kubesim.api.node import NodeCondition
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.statement import Cause, Fact, NextStep

NODE_GONE = "NodeGone"


def node_problem(seen: Observation) -> Cause | None:
    """The cause if the node has a problem, which takes precedence over all others."""
    name = seen.pod.spec.node_name
    if seen.node_gone:
        return Cause(
            code=NODE_GONE,
            says=f"The cluster has no node {name}: no kubelet acts on the pod.",
            rule="The pod garbage collector of the controller manager removes pods whose node does not exist. It "
            "checks every 20 s and waits 40 s before it acts. Until then the object stays as it is.",
            ref="pkg/controller/podgc gcOrphaned",
            steps=(NextStep("removed", "the pod garbage collector removes it", certain=False),),
            remedies=(
                "if the name is wrong, create the pod again with the right spec.nodeName, or let the scheduler set it",
                "kubectl delete --force --grace-period=0, if nothing removes it",
            ),
            facts=(Fact("spec.nodeName", name),),
        )
    ready = _ready(seen)
    if seen.node is None or ready is None or ready.status == "True":
        return None
    silent = ready.status == "Unknown"
    return Cause(
        code="NodeUnreachable" if silent else "NodeNotReady",
        says=f"Node {name} is {'unreachable' if silent else 'not ready'}: {ready.message or ready.reason}",
        rule="The node controller marks a node Unknown whose lease was not renewed for 50 s, taints it, and after the "
        "pods' toleration (300 s by default) marks them for deletion. The status of its pods may be stale. A "
        "pod on it is removed only "
        "when its kubelet is back, or when it is force-deleted."
        if silent
        else "A node that reports NotReady still runs its pods, but cannot start pods without network or runtime.",
        ref="pkg/controller/nodelifecycle",
        steps=(NextStep("acknowledged", "when the kubelet is back it continues where it was", certain=False),),
        remedies=(
            "repair the node or its kubelet",
            "for a node that will not recover: delete the Node, or taint it node.kubernetes.io/out-of-service",
        ),
        facts=(Fact(f"node {name} status.conditions[Ready]", f"{ready.status} {ready.reason}".strip()),),
    )


def has_no_kubelet(seen: Observation) -> bool:
    """Whether the pod's node does not exist, or its kubelet has stopped reporting."""
    ready = _ready(seen)
    return bool(seen.pod.spec.node_name) and (seen.node_gone or (ready is not None and ready.status == "Unknown"))


def _ready(seen: Observation) -> NodeCondition | None:
    if seen.node is None:
        return None
    return next((condition for condition in seen.node.status.conditions if condition.type == "Ready"), None)

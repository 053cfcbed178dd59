"""A container has no more resources than its kubelet has allocated.

The kubelet allocates what it has admitted to the node (status.containerStatuses.allocatedResources). While a resize is
in progress, a container may still have more.

Kubelets before v1.31 violate it: a container whose resize was refused gets the refused resources when it restarts
(kubernetes/kubernetes#126033).
"""

from __future__ import annotations

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.api.quantity import quantity
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import RuleObserver

IN_PROGRESS = "PodResizeInProgress"


class Allocations(RuleObserver):
    """Needs no memory: a status has both."""

    def reported(self, old: Pod | None, new: Pod) -> str:
        status = new.status
        if status.resize == "InProgress" or any(condition.type == IN_PROGRESS for condition in status.conditions):
            return ""
        return next(filter(None, map(_excess, status.container_statuses)), "")


def _excess(status: ContainerStatus) -> str:
    if status.resources is None or status.state.running is None:
        return ""
    for name, allocated in status.allocated_resources.items():
        given = status.resources.requests.get(name)
        if given is not None and quantity(given) > quantity(allocated):
            return f"container {status.name} has {given} of {name}, but only {allocated} are allocated to it"
    return ""


INVARIANT = Invariant("allocations", observer=Allocations)

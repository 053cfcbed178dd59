"""Node allocatable: capacity minus reservations, hard eviction thresholds and huge pages.

The kubelet reports it as `status.allocatable`; the scheduler and the kubelet's admission use it. The cgroup of all pods
(`kubepods`) is limited to the capacity minus the reservations only: until the eviction manager acts, pods may use more
than allocatable.

Mirrors: pkg/kubelet/cm/node_container_manager_linux.go GetNodeAllocatableReservation, GetNodeAllocatableAbsolute,
validateNodeAllocatable; cm/helpers.go hardEvictionReservation; nodestatus/setters.go MachineInfo
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubesim.api.names import is_huge_page_resource_name
from kubesim.api.pods.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from kubesim.api.quantity import DECIMAL_SI, Quantity, quantity
from kubesim.golang.text import quoted
from kubesim.kubelet.eviction import signals
from kubesim.kubelet.eviction.thresholds import Threshold
from kubesim.values import value_object

ResourceAmounts = Mapping[str, str | int | float]

_RESERVED_FROM = {signals.MEMORY_AVAILABLE: MEMORY, signals.NODEFS_AVAILABLE: EPHEMERAL_STORAGE}
_NOTHING = Quantity(0, 0, DECIMAL_SI)


@value_object
class NodeAllocatableConfig:
    """The node's reservation: the sum of systemReserved and kubeReserved, and the hard eviction thresholds."""

    reserved: Mapping[str, Quantity]
    hard_eviction_thresholds: tuple[Threshold, ...] = ()


NOTHING_RESERVED = NodeAllocatableConfig({})


def hard_eviction_reservation(thresholds: Iterable[Threshold], capacity: ResourceAmounts) -> dict[str, Quantity]:
    """Memory and disk space that the thresholds keep free. The last threshold for a resource wins."""
    return {
        resource: threshold.value.of(quantity(capacity.get(resource, 0)))
        for threshold in thresholds
        if (resource := _RESERVED_FROM.get(threshold.signal)) is not None
    }


def node_allocatable_reservation(capacity: ResourceAmounts, config: NodeAllocatableConfig) -> dict[str, Quantity]:
    """The reservation of the resources that the kubelet manages itself."""
    eviction = hard_eviction_reservation(config.hard_eviction_thresholds, capacity)
    total = {}
    for resource in filter(_is_own, capacity):
        amount = _NOTHING + config.reserved.get(resource, _NOTHING) + eviction.get(resource, _NOTHING)
        if not amount.is_zero:
            total[resource] = amount
    return total


def invalid_node_allocatable(capacity: ResourceAmounts, config: NodeAllocatableConfig) -> str:
    """The kubelet's start error if it reserves more than the node's capacity; empty otherwise."""
    problems = [
        f"Resource {quoted(name)} has a reservation of {amount} but capacity of {quantity(capacity[name])}. "
        "Expected capacity >= reservation."
        for name, amount in node_allocatable_reservation(capacity, config).items()
        if quantity(capacity[name]) < amount
    ]
    return f"invalid Node Allocatable configuration. {' '.join(problems)}" if problems else ""


def node_allocatable(capacity: ResourceAmounts, reservation: Mapping[str, Quantity]) -> dict[str, str | int | float]:
    """`status.allocatable`, at least zero. All huge pages are subtracted from memory, used or not."""
    left = {name: _minus(amount, reservation.get(name, _NOTHING)) for name, amount in capacity.items()}
    for name in filter(is_huge_page_resource_name, capacity):
        left[MEMORY] = _minus(left.get(MEMORY, 0), quantity(capacity[name]))
    return left


def node_allocatable_absolute(
    capacity: ResourceAmounts, reserved: Mapping[str, Quantity]
) -> dict[str, str | int | float]:
    """The limits of the cgroup of all pods: eviction thresholds and huge pages are not subtracted."""
    return {name: _minus(amount, reserved.get(name, _NOTHING)) for name, amount in capacity.items() if _is_own(name)}


def _is_own(resource: str) -> bool:
    return resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_huge_page_resource_name(resource)


def _minus(amount: str | int | float, subtrahend: Quantity) -> str | int | float:
    left = quantity(amount) - subtrahend
    if left.sign < 0:
        return "0"
    return amount if subtrahend.is_zero else str(left)

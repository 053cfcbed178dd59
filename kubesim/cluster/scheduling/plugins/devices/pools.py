"""The devices accessible from a node, by driver and pool.

A pool is a set of ResourceSlices of one generation; incomplete pools are not used. Go visits pools in random map order.
Here they are in the order of their first slice.

Mirrors: k8s.io/dynamic-resource-allocation/structured/internal/stable/pools_stable.go GatherPools
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.cluster.scheduling.framework.listers import field
from kubesim.cluster.scheduling.framework.status import CycleError
from kubesim.cluster.scheduling.node_affinity import matches_node_selector
from kubesim.values import value_object

Json = Mapping[str, Any]
# Device fields that make allocations share the device's capacity.
_NOT_SIMULATED = (
    "consumesCounters",
    "allowMultipleAllocations",
    "bindingConditions",
    "nodeAllocatableResourceMappings",
)


@value_object
class DeviceOnNode:
    """A device and its slice. The id is driver, pool and name."""

    id: tuple[str, str, str]
    device: Json
    slice_spec: Json


@value_object
class Pool:
    name: str  # driver/pool
    devices: tuple[DeviceOnNode, ...] = ()
    is_incomplete: bool = False
    is_invalid: bool = False


def gather_pools(slices: Sequence[ApiObject], node: str, labels: Mapping[str, str]) -> list[Pool]:
    newest: dict[tuple[str, str], list[Json]] = {}
    for each in slices:
        spec = field(each, "spec")
        if not _reaches(spec, node, labels):
            continue
        found = newest.setdefault(_pool_id(spec), [])
        if found and _generation(spec) > _generation(found[0]):
            found.clear()
        if not found or _generation(spec) == _generation(found[0]):
            found.append(spec)
    pools = (_pool(key, found, slices) for key, found in newest.items())
    return [pool for pool in pools if pool is not None]


def _pool_id(spec: Json) -> tuple[str, str]:
    return spec.get("driver", ""), (spec.get("pool") or {}).get("name", "")


def _generation(spec: Json) -> int:
    generation: int = (spec.get("pool") or {}).get("generation", 0)
    return generation


def _reaches(spec: Json, node: str, labels: Mapping[str, str]) -> bool:
    if spec.get("perDeviceNodeSelection"):
        return any(node_matches(device, node, labels) for device in spec.get("devices") or ())
    return node_matches(spec, node, labels)


def node_matches(of: Json, node: str, labels: Mapping[str, str]) -> bool:
    """Whether a slice or a device is accessible from this node."""
    if of.get("nodeName"):
        return bool(of["nodeName"] == node)
    if of.get("allNodes"):
        return True
    selector = of.get("nodeSelector")
    return selector is not None and matches_node_selector(selector, node, labels)


def _pool(key: tuple[str, str], reached: list[Json], slices: Sequence[ApiObject]) -> Pool | None:
    """The pool. None if other nodes have a newer generation of it."""
    generation, name = _generation(reached[0]), "/".join(key)
    wanted = (reached[0].get("pool") or {}).get("resourceSliceCount", 0)
    others = [spec for spec in (field(each, "spec") for each in slices) if _pool_id(spec) == key]
    if len(reached) != wanted:
        if any(_generation(spec) > generation for spec in others):
            return None
        if len([spec for spec in others if _generation(spec) == generation]) != wanted:
            return Pool(name, is_incomplete=True)
    devices = tuple(
        DeviceOnNode((*key, device.get("name", "")), device, spec)
        for spec in reached
        for device in spec.get("devices") or ()
    )
    for each in devices:
        for unsupported in _NOT_SIMULATED:
            if each.device.get(unsupported):
                shown = "/".join(each.id)
                raise CycleError(f"device {shown}: {unsupported} is not simulated: remove it from the ResourceSlice")
    return Pool(name, devices, is_invalid=len({each.id for each in devices}) < len(devices))

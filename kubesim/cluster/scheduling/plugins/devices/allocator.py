"""Allocates devices of a node to a pod's claims: a depth-first search for the first fit.

Either all claims are allocated or none: a device is released if a later request cannot be met.

Mirrors: k8s.io/dynamic-resource-allocation/structured/internal/stable/allocator_stable.go Allocate, allocateOne
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.workloads.device_cel import CelError, device_matches
from kubesim.cluster.scheduling.framework.listers import Listers, field
from kubesim.cluster.scheduling.framework.status import CycleError
from kubesim.cluster.scheduling.plugins.devices.constraints import Constraint, tolerates_taints
from kubesim.cluster.scheduling.plugins.devices.pools import DeviceOnNode, Pool, node_matches
from kubesim.cluster.scheduling.plugins.devices.results import Chosen
from kubesim.values import value_object

MAX_RESULTS = 32

Json = Mapping[str, Any]
DeviceId = tuple[str, str, str]


@value_object
class Alternative:
    """A request, or its subrequests, of which the first that fits is used. `name` is `request/subrequest`."""

    name: str
    request: Json
    device_class: ApiObject


@value_object
class NodeDevices:
    """The device pools of a node, and the devices already allocated."""

    name: str
    labels: Mapping[str, str]
    pools: Sequence[Pool]
    allocated: frozenset[DeviceId]


def shown(claim: ApiObject) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def requests_of(claim: ApiObject) -> Sequence[Json]:
    found: Sequence[Json] = (field(claim, "spec").get("devices") or {}).get("requests") or ()
    return found


class Allocator:
    """One attempt to allocate claims on a node. Raises CycleError for an invalid claim or class."""

    def __init__(self, listers: Listers, node: NodeDevices, claims: Sequence[ApiObject]) -> None:
        self._listers = listers
        self._node = node
        self._claims = claims
        self._matches: dict[tuple[int, str, DeviceId], bool] = {}
        self._requests = [[self._alternatives(claim, each) for each in requests_of(claim)] for claim in claims]
        self._constraints = [
            [Constraint.of(each) for each in (field(claim, "spec").get("devices") or {}).get("constraints") or ()]
            for claim in claims
        ]
        self._chosen: list[list[Chosen]] = [[] for _ in claims]

    def allocate(self) -> list[list[Chosen]] | None:
        """The devices of each claim, in the order of its requests. None if not all claims can be allocated."""
        for index, claim in enumerate(self._claims):
            fewest = sum(min(self._wanted(index, each) for each in options) for options in self._requests[index])
            if fewest > MAX_RESULTS:
                limit = f"exceeds the claim limit of {MAX_RESULTS}"
                raise CycleError(f"claim {shown(claim)}: number of requested devices {fewest} {limit}")
        return self._chosen if self._claim(0) else None

    def _alternatives(self, claim: ApiObject, request: Json) -> list[Alternative]:
        name, exactly = request.get("name", ""), request.get("exactly")
        if exactly is not None:
            return [Alternative(name, exactly, self._class(claim, name, exactly))]
        return [
            Alternative(f"{name}/{each.get('name', '')}", each, self._class(claim, each.get("name", ""), each))
            for each in request.get("firstAvailable") or ()
        ]

    def _class(self, claim: ApiObject, request: str, of: Json) -> ApiObject:
        if of.get("capacity"):
            raise CycleError(f"claim {shown(claim)}, request {request}: capacity is not simulated: remove it")
        name = of.get("deviceClassName", "")
        found = self._listers.store.find("DeviceClass", "", name)
        if found is None:
            missing = f'deviceclass.resource.k8s.io "{name}" not found'
            where = f"claim {shown(claim)}, request {request}"
            raise CycleError(f"{where}: could not retrieve device class {name}: {missing}")
        return found

    # -- one after the other ------------------------------------------------------------------------------------

    def _claim(self, index: int) -> bool:
        return index >= len(self._claims) or self._request(index, 0)

    def _request(self, index: int, position: int) -> bool:
        if position >= len(self._requests[index]):
            return self._claim(index + 1)
        return any(self._devices(index, position, each) for each in self._requests[index][position])

    def _devices(self, index: int, position: int, option: Alternative) -> bool:
        """Allocate all devices of a request, or none."""
        everything = option.request.get("allocationMode") == "All"
        if everything:
            candidates = self._all_devices(index, option)
        else:
            candidates = [each for each in self._usable_devices() if self._is_selectable(index, option, each)]
        wanted = len(candidates) if everything else option.request.get("count", 0)
        if not wanted or len(self._chosen[index]) + wanted > MAX_RESULTS:
            return False
        return self._device(index, position, option, wanted, candidates)

    def _device(
        self, index: int, position: int, option: Alternative, left: int, candidates: list[DeviceOnNode]
    ) -> bool:
        """Allocate the remaining devices of a request. Each combination is tried once, as their order does not
        matter.
        """
        if left == 0:
            return self._request(index, position + 1)
        everything = option.request.get("allocationMode") == "All"
        for n, device in enumerate(candidates[: len(candidates) - left + 1]):
            if self._take(index, option, device, must=everything):
                if self._device(index, position, option, left - 1, candidates[n + 1 :]):
                    return True
                self._give_back(index, option)
        return False

    def _usable_devices(self) -> list[DeviceOnNode]:
        pools = (pool for pool in self._node.pools if not pool.is_incomplete and not pool.is_invalid)
        return [device for pool in pools for device in pool.devices]

    def _wanted(self, index: int, option: Alternative) -> int:
        if option.request.get("allocationMode") == "All":
            return len(self._all_devices(index, option))
        count: int = option.request.get("count", 0)
        return count

    def _all_devices(self, index: int, option: Alternative) -> list[DeviceOnNode]:
        """Every matching device, including allocated ones, with which the request cannot be met."""
        for pool in self._node.pools:
            for is_so, problem in ((pool.is_incomplete, "being updated"), (pool.is_invalid, "invalid")):
                if is_so:
                    where = f"claim {shown(self._claims[index])}, request {option.name.rpartition('/')[2]}"
                    text = f"asks for all devices, but resource pool {pool.name} is currently {problem}"
                    raise CycleError(f"{where}: {text}")
        return [each for each in self._usable_devices() if self._is_selectable(index, option, each)]

    # -- one device ---------------------------------------------------------------------------------------------

    def _is_selectable(self, index: int, option: Alternative, device: DeviceOnNode) -> bool:
        key = (index, option.name, device.id)
        if key not in self._matches:
            self._matches[key] = self._selectors_match(index, option, device)
        return self._matches[key]

    def _selectors_match(self, index: int, option: Alternative, device: DeviceOnNode) -> bool:
        driver = device.id[0]
        of_class = field(option.device_class, "spec").get("selectors") or ()
        class_name, claim_name = option.device_class.metadata.name, shown(self._claims[index])
        for source, selectors in (
            (f"class {class_name}", of_class),
            (f"claim {claim_name}", option.request.get("selectors") or ()),
        ):
            for number, selector in enumerate(selectors):
                try:
                    if not device_matches((selector.get("cel") or {}).get("expression", ""), driver, device.device):
                        return False
                except CelError as error:
                    raise CycleError(f"{source}: selector #{number}: CEL runtime error: {error}") from None
        per_device = device.slice_spec.get("perDeviceNodeSelection")
        return not per_device or node_matches(device.device, self._node.name, self._node.labels)

    def _take(self, index: int, option: Alternative, device: DeviceOnNode, *, must: bool) -> bool:
        admin = bool(option.request.get("adminAccess"))
        own = any(each.device.id == device.id for each in self._chosen[index])
        others = any(each.device.id == device.id for chosen in self._chosen for each in chosen)
        if own if admin else others or device.id in self._node.allocated:
            return False
        if not tolerates_taints(device.device, option.request.get("tolerations") or ()):
            return False
        constraints = self._constraints[index]
        for position, constraint in enumerate(constraints):
            if not constraint.add(option.name, device):
                for added in constraints[:position]:
                    added.remove(option.name)
                if must:
                    where = f"claim {shown(self._claims[index])}, request {option.name.rpartition('/')[2]}"
                    text = "because a claim constraint would not be satisfied"
                    raise CycleError(f"{where}: cannot add device {'/'.join(device.id)} {text}")
                return False
        self._chosen[index].append(Chosen(option.name, option.request, option.device_class, device))
        return True

    def _give_back(self, index: int, option: Alternative) -> None:
        self._chosen[index].pop()
        for constraint in self._constraints[index]:
            constraint.remove(option.name)

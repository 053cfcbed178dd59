"""The DRA drivers of a simulated node: they publish their devices, and prepare claims for the kubelet.

They keep running when the kubelet restarts, and register with it again. A prepared device is a CDI device; its
environment variables are in `cdi`, where the runtime looks them up.

Where they stand: a scenario describes them, `play/simulated_node.py` makes them, and the kubelet's DRA manager calls
them (`kubelet/cm/dra/plugin.py DraPlugin`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from kubesim.api.meta import ApiObject, ObjectMeta, OwnerReference
from kubesim.api.timestamps import MILLISECOND
from kubesim.api.workloads.resource_claims import CLAIM, RESOURCE_SLICE, allocation_of, base_request
from kubesim.clock import LoopClock, Randomness
from kubesim.clock.randomness import Stream
from kubesim.kubelet.cm.dra.health_info import DeviceHealthReport
from kubesim.kubelet.cm.dra.plugin import (
    CALL_TIMEOUT,
    ClaimResult,
    DraClaim,
    DraPluginError,
    DraRegistry,
    PreparedDevice,
)
from kubesim.scenario.language.document import NodeItem
from kubesim.scenario.language.nodes.device_items import DraDriverItem
from kubesim.trace import Recorder
from kubesim.trace.records import Note
from kubesim.values import part

FASTEST, SLOWEST = 20 * MILLISECOND, 200 * MILLISECOND  # latency of a call, unless the scenario sets it

Find = Callable[[str, str, str], ApiObject | None]  # kind, namespace, name
CdiDevices = dict[str, Mapping[str, str]]  # environment variables by device id


@part
class SimulatedDraDriver:
    """Implements `DraPlugin`. The name of its pool is the name of the node."""

    item: DraDriverItem
    node: str
    clock: LoopClock
    stream: Stream
    recorder: Recorder
    find: Find
    cdi: CdiDevices
    _health: dict[str, str] = field(init=False)  # of devices whose health the driver reports
    _prepare_errors: list[str] = field(init=False)
    _unprepare_errors: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._health = {each.name: each.health for each in self.item.devices if each.health}
        self._prepare_errors = list(self.item.prepare_errors)
        self._unprepare_errors = list(self.item.unprepare_errors)

    @property
    def name(self) -> str:
        return self.item.name

    async def node_prepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]:
        await self._takes(self.item.prepare_time)
        if self._prepare_errors:
            return self._failed("NodePrepareResources", claims, self._prepare_errors.pop(0))
        results = {claim.uid: self._prepared(claim) for claim in claims}
        for claim in claims:
            devices = " ".join(device.device_name for device in results[claim.uid].devices)
            outcome = results[claim.uid].error or f"prepared {devices or 'no devices'}"
            self._note("NodePrepareResources", claim, outcome)
        return results

    async def node_unprepare_resources(self, claims: Sequence[DraClaim]) -> Mapping[str, ClaimResult]:
        await self._takes(self.item.unprepare_time)
        if self._unprepare_errors:
            return self._failed("NodeUnprepareResources", claims, self._unprepare_errors.pop(0))
        for claim in claims:
            self._note("NodeUnprepareResources", claim, "unprepared")
        return {claim.uid: ClaimResult() for claim in claims}

    async def _takes(self, duration: int | None) -> None:
        """Wait for the latency of a call. Raises DraPluginError if the kubelet gives up first."""
        wanted = self.stream.randint(FASTEST, SLOWEST) if duration is None else duration
        await self.clock.sleep(min(wanted, CALL_TIMEOUT))
        if wanted > CALL_TIMEOUT:
            raise DraPluginError("rpc error: code = DeadlineExceeded desc = context deadline exceeded")

    def _failed(self, call: str, claims: Sequence[DraClaim], error: str) -> Mapping[str, ClaimResult]:
        for claim in claims:
            self._note(call, claim, f"failed: {error}")
        return {claim.uid: ClaimResult(error) for claim in claims}

    def _prepared(self, claim: DraClaim) -> ClaimResult:
        found = self.find(CLAIM, claim.namespace, claim.name)
        if found is None or found.metadata.uid != claim.uid:
            return ClaimResult(f"claim {claim.name} got replaced")
        results = ((allocation_of(found) or {}).get("devices") or {}).get("results") or ()
        return ClaimResult(devices=tuple(self._device(each) for each in results if each.get("driver") == self.name))

    def _device(self, result: Mapping[str, Any]) -> PreparedDevice:
        identifier = f"{self.name}/device={result['device']}"
        self.cdi[identifier] = self._environment(result["device"])
        requests = (base_request(result["request"]),)
        share = result.get("shareID") or ""
        return PreparedDevice(result["pool"], result["device"], requests, (identifier,), share)

    def _environment(self, name: str) -> Mapping[str, str]:
        for number, device in enumerate(self.item.devices):
            if device.name == name:
                pairs = {**self.item.env, **device.env}.items()
                known = {"{device}": name, "{n}": str(number)}
                return {_filled(key, known): _filled(value, known) for key, value in pairs}
        return {}

    def _note(self, call: str, claim: DraClaim, outcome: str) -> None:
        if self.recorder.on:
            text = f"driver {self.name} {call} of ResourceClaim {claim.namespace}/{claim.name}: {outcome}"
            self.recorder.record(Note(node=self.node, text=text))

    def health(self) -> list[DeviceHealthReport]:
        return [DeviceHealthReport(self.node, device, health) for device, health in self._health.items()]

    def set_health(self, device: str, health: str) -> None:
        self._health[device] = health


def _filled(text: str, known: Mapping[str, str]) -> str:
    for mark, value in known.items():
        text = text.replace(mark, value)
    return text


@part
class DraDrivers:
    """Implements `DraDriversOnNode`."""

    clock: LoopClock
    drivers: Sequence[SimulatedDraDriver]
    cdi: CdiDevices
    _registry: DraRegistry | None = None  # of the running kubelet
    _registered: set[str] = field(default_factory=set)

    def kubelet_serves(self, registry: DraRegistry) -> None:
        self._registry = registry
        for driver in self.drivers:
            if driver.item.running:
                moment = self.clock.now() + driver.item.registers_after
                self.clock.call_at(moment, self._register, driver, registry)

    def kubelet_is_gone(self) -> None:
        self._registry = None
        self._registered.clear()

    def _register(self, driver: SimulatedDraDriver, registry: DraRegistry) -> None:
        if registry is not self._registry:
            return
        Recorder.because(None)
        if driver.recorder.on:
            text = f"DRA driver {driver.name} registers with the kubelet"
            Recorder.because(driver.recorder.record(Note(node=driver.node, text=text)))
        registry.plugin_registered(driver)
        self._registered.add(driver.name)
        self._report_health(driver)

    def _report_health(self, driver: SimulatedDraDriver) -> None:
        if self._registry is not None and driver.name in self._registered and driver.health():
            self._registry.health_reported(driver.name, driver.health())

    def set_health(self, name: str, device: str, health: str) -> None:
        driver = next(each for each in self.drivers if each.name == name)
        driver.set_health(device, health)
        self._report_health(driver)

    def slices(self, node: ObjectMeta) -> list[ApiObject]:
        """The ResourceSlices that the drivers publish: one each, deleted with the node."""
        owner = OwnerReference(api_version="v1", kind="Node", name=node.name, uid=node.uid, controller=True)
        return [_slice(driver, owner) for driver in self.drivers]


def _slice(driver: SimulatedDraDriver, owner: OwnerReference) -> ApiObject:
    metadata = ObjectMeta(
        name=f"{driver.node}-{driver.name}",
        generate_name=f"{driver.node}-{driver.name}-",
        generation=1,
        owner_references=(owner,),
    )
    spec = {
        "driver": driver.name,
        "pool": {"name": driver.node, "generation": 1, "resourceSliceCount": 1},
        "nodeName": driver.node,
        "devices": [device.listed for device in driver.item.devices],
    }
    made = ApiObject(api_version="resource.k8s.io/v1", kind=RESOURCE_SLICE, metadata=metadata)
    return made.with_extra({"spec": spec})


def dra_drivers(node: NodeItem, clock: LoopClock, randomness: Randomness, recorder: Recorder, find: Find) -> DraDrivers:
    """The drivers of a node, which share their CDI devices."""
    cdi: CdiDevices = {}
    drivers = [
        SimulatedDraDriver(item, node.name, clock, randomness.stream("dra", item.name), recorder, find, cdi)
        for item in node.dra_drivers
    ]
    return DraDrivers(clock, drivers, cdi)

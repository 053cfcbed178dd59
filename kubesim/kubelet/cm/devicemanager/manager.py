"""The device manager: registers plugins and assigns devices to containers.

A device is allocated when its pod is admitted. It is freed when another container requests devices after the pod became
inactive. Allocations and registered resources are in a checkpoint, so a restarted kubelet knows them before the plugins
register again. Until a plugin registers, its resource has no devices.

Where upstream iterates over a map, this uses the order of the manifest (container limits) or of registration (node
resources).

Mirrors: pkg/kubelet/cm/devicemanager/manager.go ManagerImpl; topology_hints.go GetTopologyHints, GetPodTopologyHints
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from kubesim.api.pod import Container, Pod, PodStatus
from kubesim.api.pods.resources import pod_limits, quantities
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.quantity import Quantity
from kubesim.cluster.scheduling.node_info import NodeResources
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.cm.admission import AllocationError
from kubesim.kubelet.cm.devicemanager.allocation import (
    DeviceRequest,
    ResourceState,
    check_held_devices,
    devices_to_allocate,
    has_topology,
    in_order,
)
from kubesim.kubelet.cm.devicemanager.capacity import DeviceCapacity
from kubesim.kubelet.cm.devicemanager.endpoint import PluginEndpoint
from kubesim.kubelet.cm.devicemanager.health import with_allocated_resources_status
from kubesim.kubelet.cm.devicemanager.plugin import HEALTHY, DevicePlugin, DevicePluginError, PluginDevice
from kubesim.kubelet.cm.devicemanager.pod_devices import (
    WITHOUT_TOPOLOGY,
    AllocatedDevices,
    PodDevices,
    PodDevicesEntry,
)
from kubesim.kubelet.cm.devicemanager.topology_hints import device_topology_hints
from kubesim.kubelet.cm.topologymanager.hints import Hints, TopologyHint
from kubesim.runtime.helper import ContainerConfigError, RunContainerOptions
from kubesim.values import part, value_object

CHECKPOINT = "kubelet_internal_checkpoint"


@value_object
class DeviceCheckpoint:
    """The checkpoint: devices of each container, and the registered resources."""

    entries: tuple[PodDevicesEntry, ...] = ()
    registered: tuple[str, ...] = ()


class SourcesReady(Protocol):
    all_ready: bool  # all pod sources have been received


@part
class KnownDevices:
    """Per resource: the plugin's endpoint, its last device list, and the healthy, unhealthy and allocated devices."""

    endpoints: dict[str, PluginEndpoint] = field(default_factory=dict)
    all: dict[str, dict[str, PluginDevice]] = field(default_factory=dict)
    healthy: dict[str, set[str]] = field(default_factory=dict)
    unhealthy: dict[str, set[str]] = field(default_factory=dict)
    allocated: dict[str, set[str]] = field(default_factory=dict)


@part
class DeviceManager:
    """The device manager; implements `HintProvider`. `on_update` gets the pods whose device health changed."""

    now: Callable[[], int]
    state_files: dict[str, Any]  # checkpoints on the kubelet's disk, by file name
    active_pods: Callable[[], Iterable[Pod]]
    sources: SourcesReady
    affinity: Callable[[str, str], TopologyHint] = lambda uid, container: TopologyHint()  # from the topology manager
    numa_nodes: Sequence[int] = ()  # NUMA nodes of the machine
    gates: FeatureGates = DEFAULT_GATES
    on_update: Callable[[Sequence[str]], object] = lambda uids: None
    known: KnownDevices = field(default_factory=KnownDevices)
    pod_devices: PodDevices = field(default_factory=PodDevices)
    _to_reuse: tuple[str, dict[str, set[str]]] = ("", {})  # devices of init containers, for later containers of the pod
    _initially_running: frozenset[tuple[str, str]] = frozenset()  # pod UID and container name

    def start(self, running: Iterable[tuple[str, str]]) -> None:
        """Read the checkpoint. `running` are the containers that the runtime reported as running: pod UID and name."""
        self._initially_running = frozenset(running)
        checkpoint = self.state_files.get(CHECKPOINT, DeviceCheckpoint())
        for entry in checkpoint.entries:
            self.pod_devices.insert(entry.pod_uid, entry.container, entry.resource, entry.allocated)
        self.known.allocated = self.pod_devices.devices()
        for resource in checkpoint.registered:
            self.known.healthy[resource] = set()
            self.known.unhealthy[resource] = set()
            self.known.endpoints[resource] = PluginEndpoint(resource, stopped_at=self.now())

    def _write_checkpoint(self) -> None:
        self.state_files[CHECKPOINT] = DeviceCheckpoint(tuple(self.pod_devices.entries()), tuple(self.known.healthy))

    # -- plugins ------------------------------------------------------------------------------------------------

    def plugin_connected(self, resource: str, plugin: DevicePlugin) -> None:
        self.known.endpoints[resource] = PluginEndpoint(resource, plugin, plugin.options())

    def plugin_disconnected(self, resource: str) -> None:
        """Mark all devices of the plugin unhealthy; they are removed after five minutes."""
        endpoint, known = self.known.endpoints.get(resource), self.known
        if endpoint is not None:
            known.unhealthy[resource] = known.unhealthy.get(resource, set()) | known.healthy.get(resource, set())
            known.healthy[resource] = set()
            endpoint.stopped_at = self.now()

    def update_devices(self, resource: str, devices: Iterable[PluginDevice]) -> None:
        """Replace the device list. The plugin sends the whole list at every change."""
        known, before = self.known, self.known.all.get(resource, {})
        listed = known.all[resource] = {device.id: device for device in devices}
        known.healthy[resource] = {device.id for device in listed.values() if device.health == HEALTHY}
        known.unhealthy[resource] = {*listed} - known.healthy[resource]
        if self.gates.enabled("ResourceHealthStatus"):
            # A device that returns may have another health than its pod's status reports.
            changed = [d.id for d in listed.values() if d.id not in before or before[d.id].health != d.health]
            uids = dict.fromkeys(uid for device in changed if (uid := self.pod_devices.pod_of_device(device)))
            if uids:
                self.on_update(tuple(uids))
        self._write_checkpoint()

    def get_capacity(self) -> DeviceCapacity:
        """The device capacity for the node's status. Removes resources whose plugin has been gone for five minutes."""
        known, now = self.known, self.now()
        removed = tuple(
            resource
            for resource in dict.fromkeys((*known.healthy, *known.unhealthy))
            if resource not in known.endpoints or known.endpoints[resource].stop_grace_period_expired(now)
        )
        for resource in removed:
            known.endpoints.pop(resource, None)
            known.healthy.pop(resource, None)
            known.unhealthy.pop(resource, None)
        if removed:
            self._write_checkpoint()
        allocatable = {resource: len(devices) for resource, devices in known.healthy.items()}
        capacity = dict(allocatable)
        for resource, devices in known.unhealthy.items():
            capacity[resource] = capacity.get(resource, 0) + len(devices)
        return DeviceCapacity(capacity, allocatable, removed)

    def is_changing(self) -> bool:
        """Whether the capacity will change by time alone: a plugin has been gone for less than five minutes."""
        return any(endpoint.stopped_at is not None for endpoint in self.known.endpoints.values())

    def is_device_plugin_resource(self, resource: str) -> bool:
        """Whether the resource is registered, or was allocated before the kubelet restarted."""
        return resource in self.known.healthy or resource in self.known.allocated

    def allocatable_devices(self) -> dict[str, dict[str, PluginDevice]]:
        """The healthy devices of each resource."""
        known = self.known
        return {
            resource: {id: device for id, device in known.all[resource].items() if id in healthy}
            for resource, healthy in known.healthy.items()
            if resource in known.all
        }

    # -- admission ----------------------------------------------------------------------------------------------

    def allocate(self, pod: Pod, container: Container) -> None:
        """Allocate devices to the pod's containers, init containers first: later containers reuse their devices, except
        those of restartable init containers. Raises AllocationError.
        """
        uid = pod.metadata.uid
        if self._to_reuse[0] != uid:
            self._to_reuse = (uid, {})
        reusable = self._to_reuse[1]
        self._allocate_container(pod, container, reusable)
        init = next((each for each in pod.spec.init_containers if each.name == container.name), None)
        is_reused = init is not None and not is_restartable_init_container(init)
        for resource, allocated in self.pod_devices.resources(uid, container.name).items():
            devices = reusable.get(resource, set())
            reusable[resource] = devices | allocated.ids() if is_reused else devices - allocated.ids()

    def allocate_pod(self, pod: Pod) -> None:
        """Does nothing: devices have no pod-level allocation."""

    def update_allocated_devices(self) -> None:
        """Free the devices of inactive pods, once all sources are received."""
        if not self.sources.all_ready:
            return
        active = {pod.metadata.uid for pod in self.active_pods()}
        gone = [uid for uid in self.pod_devices.pods() if uid not in active]
        if gone:
            self.pod_devices.delete(gone)
            self.known.allocated = self.pod_devices.devices()

    def _allocate_container(self, pod: Pod, container: Container, reusable: Mapping[str, set[str]]) -> None:
        uid, name, known = pod.metadata.uid, container.name, self.known
        has_updated = has_allocated = False
        for resource, amount in quantities(container.resources.limits).items():
            if self._is_claimed(pod, name, resource) or not self.is_device_plugin_resource(resource):
                continue
            if not has_updated:
                self.update_allocated_devices()
                has_updated = True
            request = DeviceRequest(uid, name, resource, amount.value())
            chosen = in_order(self._devices_to_allocate(request, reusable.get(resource, set())), self._all(resource))
            if not chosen:
                continue
            try:
                if resource not in known.endpoints:
                    raise AllocationError(f"unknown Device Plugin {resource}")
                response = known.endpoints[resource].allocate(chosen)
            except (AllocationError, DevicePluginError) as error:
                known.allocated = self.pod_devices.devices()
                raise AllocationError(str(error)) from None
            by_node: dict[int, tuple[str, ...]] = {}
            for device in chosen:
                listed = self._all(resource).get(device)
                for node in (listed and listed.numa_nodes) or (WITHOUT_TOPOLOGY,):
                    by_node[node] = (*by_node.get(node, ()), device)
            self.pod_devices.insert(uid, name, resource, AllocatedDevices(by_node, response))
            has_allocated = True
        if has_allocated:
            self._write_checkpoint()

    def _devices_to_allocate(self, request: DeviceRequest, reusable: set[str]) -> set[str]:
        uid, name, resource = request.pod_uid, request.container, request.resource
        held = self.pod_devices.of_container(uid, name, resource)
        check_held_devices(request, held)
        if not self.sources.all_ready and (uid, name) in self._initially_running:
            return set()  # only the kubelet restarted: the container has its devices
        state = ResourceState(self._all(resource), self.known.healthy.get(resource), self.known.allocated, held)
        nodes = self.affinity(uid, name).numa_nodes
        return devices_to_allocate(request, state, reusable, nodes, self._prefer(resource))

    def _prefer(self, resource: str) -> Callable[[set[str], set[str], int], set[str] | None]:
        def prefer(available: set[str], must_include: set[str], size: int) -> set[str] | None:
            endpoint = self.known.endpoints.get(resource)
            if endpoint is None:
                raise AllocationError(f"endpoint not found in cache for a registered resource: {resource}")
            if endpoint.options is None or not endpoint.options.get_preferred_allocation_available:
                return None
            listed = self._all(resource)
            try:
                return endpoint.preferred_allocation(in_order(available, listed), in_order(must_include, listed), size)
            except DevicePluginError as error:
                text = f"device plugin GetPreferredAllocation rpc failed with err: {error}"
                raise AllocationError(text) from None

        return prefer

    def _all(self, resource: str) -> Mapping[str, PluginDevice]:
        return self.known.all.get(resource, {})

    def _is_claimed(self, pod: Pod, container: str, resource: str) -> bool:
        """Whether dynamic resource allocation provides this resource."""
        claim = pod.status.extended_resource_claim_status
        if claim is None or not self.gates.enabled("DRAExtendedResource"):
            return False
        mappings = claim.get("requestMappings") or ()
        return any(m.get("containerName") == container and m.get("resourceName") == resource for m in mappings)

    def node_allocatable(self, pod: Pod, info: NodeResources) -> NodeResources:
        """The node's allocatable devices for this pod. It covers at least the pod's allocated devices, so that the pod
        passes admission after a restart before its plugin registers.
        """
        if not self.pod_devices.has_pod(pod.metadata.uid):
            return info
        allocated = {resource: len(devices) for resource, devices in self.known.allocated.items()}
        missing = {name: count for name, count in allocated.items() if info.scalars.get(name, -1) < count}
        if missing:
            info = info.copy()
            info.scalars.update(missing)
        return info

    # -- topology hints -----------------------------------------------------------------------------------------

    def topology_hints(self, pod: Pod, container: Container) -> Hints:
        self.update_allocated_devices()
        uid = pod.metadata.uid
        reusable = self._to_reuse[1] if self._to_reuse[0] == uid else {}
        return {
            resource: self._hints(
                resource,
                requested,
                self.pod_devices.of_container(uid, container.name, resource) or set(),
                reusable.get(resource, set()),
            )
            for resource, requested in self._requests(quantities(container.resources.limits)).items()
        }

    def pod_topology_hints(self, pod: Pod) -> Hints:
        self.update_allocated_devices()
        uid = pod.metadata.uid
        return {
            resource: self._hints(resource, requested, self.pod_devices.of_pod(uid, resource), set())
            for resource, requested in self._requests(pod_limits(pod, exclude_overhead=True)).items()
        }

    def _requests(self, limits: Mapping[str, Quantity]) -> dict[str, int]:
        return {name: amount.value() for name, amount in limits.items() if self.is_device_plugin_resource(name)}

    def _hints(
        self, resource: str, requested: int, held: set[str], reusable: set[str]
    ) -> tuple[TopologyHint, ...] | None:
        devices = self._all(resource)
        if not has_topology(devices):
            return None
        if held:
            if len(held) != requested:
                return ()
            return device_topology_hints(devices, self.numa_nodes, held, (), requested)
        available = self.known.healthy.get(resource, set()) - self.known.allocated.get(resource, set())
        if len(available | reusable) < requested:
            return ()
        return device_topology_hints(devices, self.numa_nodes, available, reusable, requested)

    # -- a pod's status -----------------------------------------------------------------------------------------

    def update_allocated_resources_status(self, pod: Pod, status: PodStatus) -> PodStatus:
        return with_allocated_resources_status(status, pod.metadata.uid, self.pod_devices, self.known.all)

    # -- a container is created ---------------------------------------------------------------------------------

    def device_run_container_options(self, pod: Pod, container: Container) -> RunContainerOptions | None:
        """Container options of its devices; None without devices. Raises ContainerConfigError."""
        uid, name = pod.metadata.uid, container.name
        needs_reallocation = False
        try:
            for resource, amount in quantities(container.resources.limits).items():
                if not self.is_device_plugin_resource(resource) or not amount.value():
                    continue
                self._pre_start(uid, name, resource)
                if self._is_active(uid) and self.pod_devices.of_container(uid, name, resource) is None:
                    needs_reallocation = True  # the pod was admitted before the plugin registered
            if needs_reallocation:
                self.allocate(pod, container)
        except AllocationError as error:
            raise ContainerConfigError(str(error)) from None
        return self.pod_devices.run_container_options(uid, name)

    def _is_active(self, uid: str) -> bool:
        return any(pod.metadata.uid == uid for pod in self.active_pods())

    def _pre_start(self, uid: str, container: str, resource: str) -> None:
        endpoint = self.known.endpoints.get(resource)
        if endpoint is None:
            raise AllocationError(f"endpoint not found in cache for a registered resource: {resource}")
        if endpoint.options is None or not endpoint.options.pre_start_required:
            return
        held = self.pod_devices.of_container(uid, container, resource)
        if held is None:
            raise AllocationError(
                f"no devices found allocated in local cache for pod {uid}, container {container}, resource {resource}"
            )
        try:
            endpoint.pre_start_container(in_order(held, self._all(resource)))
        except DevicePluginError as error:
            raise AllocationError(f"device plugin PreStartContainer rpc failed with err: {error}") from None

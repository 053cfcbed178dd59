"""The machine of a simulated node: its available memory, disk and process ids, and the usage of its pods.

A container uses what its behaviour says, or else its requests. A step of the scenario sets the available amount at one
time; from then on it changes with the usage of the pods. A resource that no step and no behaviour mentions is not
measured, so it never runs out. Images are on the disk of the node, unless it has a separate image disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubesim.api.names import is_huge_page_resource_name
from kubesim.api.node import Node
from kubesim.api.pod import Container
from kubesim.api.quantity import BINARY_SI, DECIMAL_SI, Quantity, quantity
from kubesim.clock import LoopClock
from kubesim.kubelet.cm.node_allocatable import node_allocatable_absolute
from kubesim.kubelet.eviction import signals
from kubesim.kubelet.eviction.stats import ContainerUsage, FsUsage, Observations, PodUsage, SignalObservation
from kubesim.runtime.simulated.containers.behaviour import Behaviour
from kubesim.runtime.simulated.containers.container_process import ProcessContext
from kubesim.runtime.simulated.runtime import SimulatedRuntime

MAX_PIDS = 32_768
BYTES_PER_INODE = 16_384
NOTHING = Behaviour()

_IMAGEFS = {
    signals.IMAGEFS_AVAILABLE: signals.NODEFS_AVAILABLE,
    signals.IMAGEFS_INODES_FREE: signals.NODEFS_INODES_FREE,
}
_CONTAINERFS = {
    signals.CONTAINERFS_AVAILABLE: signals.IMAGEFS_AVAILABLE,
    signals.CONTAINERFS_INODES_FREE: signals.IMAGEFS_INODES_FREE,
}


class Machine:
    """Implements `StatsProvider`. `behaviours` are those of the scenario; the first match for a container wins."""

    def __init__(
        self,
        clock: LoopClock,
        runtime: SimulatedRuntime,
        node: Node,
        reserved: Mapping[str, Quantity],
        behaviours: Sequence[Behaviour] = (),
        image_fs: str | int | float | None = None,
    ) -> None:
        self._clock = clock
        self._runtime = runtime
        self._behaviours = behaviours
        self.dedicated_image_fs = image_fs is not None
        capacity = node.status.capacity
        huge_pages = [quantity(capacity[name]).value() for name in capacity if is_huge_page_resource_name(name)]
        self.huge_pages = sum(huge_pages)
        disk = quantity(node.status.capacity["ephemeral-storage"]).value()
        image_disk = disk if image_fs is None else quantity(image_fs).value()
        of_pods = node_allocatable_absolute(node.status.capacity, reserved)
        self._capacity: Mapping[str, int] = {
            signals.MEMORY_AVAILABLE: quantity(node.status.capacity["memory"]).value(),
            signals.ALLOCATABLE_MEMORY_AVAILABLE: quantity(of_pods["memory"]).value(),
            signals.NODEFS_AVAILABLE: disk,
            signals.NODEFS_INODES_FREE: disk // BYTES_PER_INODE,
            signals.IMAGEFS_AVAILABLE: image_disk,
            signals.IMAGEFS_INODES_FREE: image_disk // BYTES_PER_INODE,
            signals.PID_AVAILABLE: MAX_PIDS,
        }
        self._others: dict[str, int] = {}  # measured usage of neither pods nor images
        if any(behaviour.memory is not None for behaviour in behaviours):
            self._others[signals.MEMORY_AVAILABLE] = 0
        if any(behaviour.disk is not None for behaviour in behaviours):
            self._others[self._measured_signal(signals.CONTAINERFS_AVAILABLE)] = 0

    # -- what a scenario does -----------------------------------------------------------------------------------

    def set_available(self, signal: str, amount: str | int | float) -> None:
        """Set the available amount (`100Mi`, `5%`) of this moment."""
        measured = self._measured_signal(signal)
        capacity = self._capacity[measured]
        if isinstance(amount, str) and amount.endswith("%"):
            available = int(capacity * float(amount[:-1]) / 100)
        else:
            available = quantity(amount).value()
        self._others[measured] = capacity - self._used(measured) - available

    def _measured_signal(self, signal: str) -> str:
        """The signal of the device where a signal is measured; several may share a device."""
        signal = _CONTAINERFS.get(signal, signal)
        return signal if self.dedicated_image_fs else _IMAGEFS.get(signal, signal)

    # -- what is measured ---------------------------------------------------------------------------------------

    def observations(self) -> Observations:
        now = self._clock.now()
        observations = {}
        for signal in signals.RESOURCE:
            measured = self._measured_signal(signal)
            if measured in self._others:
                notation = BINARY_SI if signal.endswith("available") and "pid" not in signal else DECIMAL_SI
                available, capacity = self._available(measured), self._capacity[measured]
                observations[signal] = SignalObservation(
                    Quantity(available, 0, notation), Quantity(capacity, 0, notation), now
                )
        return observations

    def image_fs(self) -> tuple[int, int]:
        measured = self._measured_signal(signals.IMAGEFS_AVAILABLE)
        return self._available(measured), self._capacity[measured]

    def _available(self, measured: str) -> int:
        capacity = self._capacity[measured]
        return max(0, min(capacity, capacity - self._others.get(measured, 0) - self._used(measured)))

    def _used(self, measured: str) -> int:
        """The usage of pods, and of images on their disk."""
        resource = signals.RESOURCE[measured]
        if resource == signals.MEMORY:
            return sum(self._memory(context) for context in self._runtime.running())
        if resource == signals.PIDS:
            return sum(self._processes(context) for context in self._runtime.running())
        if resource == signals.INODES or measured != self._measured_signal(signals.CONTAINERFS_AVAILABLE):
            return 0
        return self._runtime.images.size() + sum(self._disk(context) for context in self._runtime.running())

    def pod_usage(self, uid: str) -> PodUsage | None:
        running = list(self._runtime.running(uid))
        if not running:
            return None
        containers = tuple(self._container_usages(running))
        return PodUsage(
            memory=sum(container.memory or 0 for container in containers),
            processes=sum(map(self._processes, running)),
            ephemeral_storage=sum(map(self._disk, running)),
            containers=containers,
        )

    def _container_usages(self, running: list[ProcessContext]) -> Iterator[ContainerUsage]:
        for context in running:
            rootfs = FsUsage(used_bytes=self._disk(context), inodes=0)
            yield ContainerUsage(context.container.name, self._memory(context), rootfs, FsUsage(used_bytes=0, inodes=0))

    # -- what a container uses ----------------------------------------------------------------------------------

    def _behaviour(self, context: ProcessContext) -> Behaviour:
        return next((behaviour for behaviour in self._behaviours if behaviour.matches(context)), NOTHING)

    def _memory(self, context: ProcessContext) -> int:
        reported = self._behaviour(context).memory
        return _request(context.container, signals.MEMORY) if reported is None else reported

    def _disk(self, context: ProcessContext) -> int:
        reported = self._behaviour(context).disk
        return _request(context.container, signals.EPHEMERAL_STORAGE) if reported is None else reported

    def _processes(self, context: ProcessContext) -> int:
        reported = self._behaviour(context).processes
        return 1 if reported is None else reported


def _request(container: Container, resource: str) -> int:
    requests = container.resources.requests
    return quantity(requests[resource]).value() if resource in requests else 0

"""The calls of RuntimeService about usage. A container uses the amounts of its behaviour, or else little.

CPU time is a fixed part of the time for which a container runs.

Mirrors: containerd internal/cri/server (container_stats.go, container_stats_list.go, sandbox_stats.go,
sandbox_stats_list.go)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.runtime.cri.server.images.image_calls import image_directory
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.store import ServedContainer, ServedSandbox, has_labels
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.protocol import ContainerInfo
from kubesim.runtime.simulated.containers.container_process import ProcessContext
from kubesim.values import part, value_object

NANO_CORES = 1_000_000  # a thousandth of a CPU
USUAL_MEMORY = 4 << 20
USUAL_DISK = 24 << 10
INODES = 12


@value_object
class Amounts:
    """The usage of a container: bytes, and processes; None: unknown."""

    memory: int | None = None
    disk: int | None = None
    processes: int | None = None


@value_object
class Usage:
    """At the time `now`, in nanoseconds."""

    now: int
    cpu_ns: int = 0
    memory: int = 0
    disk: int = 0
    processes: int = 0

    @property
    def inodes(self) -> int:
        return INODES if self.disk else 0


@part
class StatsCalls:
    """`amounts` gives what the behaviour of a container says."""

    node: ServedNode
    amounts: Callable[[ProcessContext], Amounts]

    def usage(self, info: ContainerInfo) -> Usage:
        node, now = self.node, self.node.clock.wall()
        if info.state != "running" or info.started_at is None:
            return Usage(now * 1000)
        context = next((each for each in node.simulated.running(info.pod_uid) if each.identifier == info.id), None)
        amounts = Amounts() if context is None else self.amounts(context)
        return Usage(
            now * 1000,
            (now - info.started_at) * 1000 * NANO_CORES // 1_000_000_000 or 1,
            USUAL_MEMORY if amounts.memory is None else amounts.memory,
            USUAL_DISK if amounts.disk is None else amounts.disk,
            1 if amounts.processes is None else amounts.processes,
        )

    # -- containers ---------------------------------------------------------------------------------------------

    async def container(self, request: Any) -> Any:
        served = self.node.containers.get(request.container_id, "failed to find container")
        return cri_pb2.ContainerStatsResponse(stats=await self._stats(served))

    async def list_containers(self, request: Any) -> Any:
        return cri_pb2.ListContainerStatsResponse(stats=await self.listed_containers(request))

    async def listed_containers(self, request: Any) -> list[Any]:
        node, given = self.node, request.filter
        identifier, sandbox_id = node.containers.full_id(given.id), node.sandboxes.full_id(given.pod_sandbox_id)
        return [
            await self._stats(served)
            for served in node.containers
            if identifier in ("", served.id)
            and sandbox_id in ("", served.sandbox_id)
            and has_labels(served.message.labels, given.label_selector)
        ]

    async def _stats(self, served: ServedContainer) -> Any:
        message = served.message
        stats = cri_pb2.ContainerStats(
            attributes=cri_pb2.ContainerAttributes(
                id=served.id, metadata=message.metadata, labels=message.labels, annotations=message.annotations
            )
        )
        usage = self.usage(await self.node.simulated.container_status(served.id))
        _fill(stats, usage, served.resources.memory_limit_in_bytes)
        layer = stats.writable_layer
        layer.timestamp, layer.fs_id.mountpoint = usage.now, image_directory()
        layer.used_bytes.value, layer.inodes_used.value = usage.disk, usage.inodes
        return stats

    # -- sandboxes ----------------------------------------------------------------------------------------------

    async def sandbox(self, request: Any) -> Any:
        given = request.pod_sandbox_id
        served = self.node.sandboxes.get(given, f"an error occurred when trying to find sandbox {given}")
        return cri_pb2.PodSandboxStatsResponse(stats=await self._sandbox_stats(served))

    async def list_sandboxes(self, request: Any) -> Any:
        return cri_pb2.ListPodSandboxStatsResponse(stats=await self.listed_sandboxes(request))

    async def listed_sandboxes(self, request: Any) -> list[Any]:
        """Of sandboxes that are ready."""
        node, given = self.node, request.filter
        identifier = node.sandboxes.full_id(given.id)
        chosen = []
        for served in node.sandboxes:
            if identifier in ("", served.id) and has_labels(served.message.labels, given.label_selector):
                if (await node.simulated.pod_sandbox_status(served.id)).ready:
                    chosen.append(await self._sandbox_stats(served))
        return chosen

    async def _sandbox_stats(self, served: ServedSandbox) -> Any:
        node, message = self.node, served.message
        stats = cri_pb2.PodSandboxStats(
            attributes=cri_pb2.PodSandboxAttributes(
                id=served.id, metadata=message.metadata, labels=message.labels, annotations=message.annotations
            )
        )
        containers = node.containers_of(served.id)
        usages = [self.usage(await node.simulated.container_status(each.id)) for each in containers]
        total = total_of(usages, node.clock.wall() * 1000)
        _fill(stats.linux, total, 0)
        stats.linux.process.timestamp = total.now
        stats.linux.process.process_count.value = total.processes
        if not served.config.pod.spec.host_network:
            network = stats.linux.network
            network.timestamp, network.default_interface.name = total.now, "eth0"
            for name in ("rx_bytes", "rx_errors", "tx_bytes", "tx_errors"):
                getattr(network.default_interface, name).value = 0
        stats.linux.containers.extend([await self._stats(each) for each in containers])
        return stats


def total_of(usages: list[Usage], now: int) -> Usage:
    return Usage(
        now,
        sum(each.cpu_ns for each in usages),
        sum(each.memory for each in usages),
        sum(each.disk for each in usages),
        1 + sum(each.processes for each in usages),
    )


def _fill(stats: Any, usage: Usage, limit: int) -> None:
    cpu, memory = stats.cpu, stats.memory
    cpu.timestamp = memory.timestamp = usage.now
    cpu.usage_core_nano_seconds.value = usage.cpu_ns
    cpu.usage_nano_cores.value = NANO_CORES if usage.cpu_ns else 0
    for name in ("working_set_bytes", "usage_bytes", "rss_bytes"):
        getattr(memory, name).value = usage.memory
    memory.available_bytes.value = max(limit - usage.memory, 0)
    memory.page_faults.value = memory.major_page_faults.value = 0
    if hasattr(stats, "swap"):
        stats.swap.timestamp = usage.now
        stats.swap.swap_usage_bytes.value = 0
        stats.swap.swap_available_bytes.value = 0


def no_amounts(context: ProcessContext) -> Amounts:
    return Amounts()

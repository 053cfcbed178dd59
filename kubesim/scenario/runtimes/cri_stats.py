"""Usage of real containers, for eviction by local storage: measured in turns, as the kubelet's file system statistics.

The machine itself is not measured: other programs use it, too, so its memory and disk say nothing about the node.

Mirrors: pkg/kubelet/stats/cri_stats_provider.go; pkg/volume/metrics_du.go
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.eviction.stats import ContainerUsage, FsUsage, Observations, PodUsage
from kubesim.runtime.cri.client.files.volumes import RealVolumes
from kubesim.runtime.cri.client.runtime import CriRuntime
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.kuberuntime.labels import CONTAINER_NAME, POD_UID

PERIOD = 10 * SECOND
_BLOCK = 512


class CriStats:
    """Implements `StatsProvider`."""

    dedicated_image_fs = False
    huge_pages = 0

    def __init__(self, clock: LoopClock, runtime: CriRuntime, volumes: RealVolumes) -> None:
        self._clock = clock
        self._runtime = runtime
        self._volumes = volumes
        self._usages: Mapping[str, PodUsage] = {}
        self._image_directory = ""

    async def run(self) -> None:
        while True:
            try:
                await self.measure()
            except RuntimeCallError:
                pass  # the kubelet works with the last measurement
            await self._clock.sleep(PERIOD)

    async def measure(self) -> None:
        self._image_directory = await self._runtime.image_directory()
        pods: dict[str, list[ContainerUsage]] = {}
        for stats in await self._runtime.container_stats():
            uid = stats.attributes.labels.get(POD_UID, "")
            pods.setdefault(uid, []).append(self._container(uid, stats))
        self._usages = {uid: self._pod(uid, containers) for uid, containers in pods.items()}

    def _container(self, uid: str, stats: pb.ContainerStats) -> ContainerUsage:
        name = stats.attributes.labels.get(CONTAINER_NAME, stats.attributes.metadata.name)
        layer = stats.writable_layer
        has_layer, has_memory = stats.HasField("writable_layer"), stats.memory.HasField("working_set_bytes")
        return ContainerUsage(
            name,
            stats.memory.working_set_bytes.value if has_memory else None,
            FsUsage(layer.used_bytes.value, layer.inodes_used.value) if has_layer else None,
            disk_usage(self._runtime.host.container_logs(uid, name)),
        )

    def _pod(self, uid: str, containers: list[ContainerUsage]) -> PodUsage:
        volumes = {name: disk_usage([path]) for name, path in self._volumes.own_directories(uid)}
        storage = [each for usage in containers for each in (usage.rootfs, usage.logs)] + [*volumes.values()]
        memory = [usage.memory for usage in containers if usage.memory is not None]
        return PodUsage(
            memory=sum(memory) if memory else None,
            ephemeral_storage=sum(usage.used_bytes or 0 for usage in storage if usage is not None),
            containers=tuple(containers),
            volumes=volumes,
        )

    def observations(self) -> Observations:
        return {}

    def pod_usage(self, uid: str) -> PodUsage | None:
        return self._usages.get(uid)

    def image_fs(self) -> tuple[int, int]:
        found = os.statvfs(self._image_directory if os.path.isdir(self._image_directory) else "/")
        return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize


def disk_usage(directories: Iterable[str]) -> FsUsage:
    """Blocks and inodes of the files below, each counted once; links are not followed."""
    seen: set[tuple[int, int]] = set()
    used = 0
    for directory in directories:
        for above, below, names in os.walk(directory):
            for path in (above, *(os.path.join(above, name) for name in (*below, *names))):
                try:
                    found = os.lstat(path)
                except OSError:
                    continue  # it has just been removed
                if (found.st_dev, found.st_ino) not in seen:
                    seen.add((found.st_dev, found.st_ino))
                    used += found.st_blocks * _BLOCK
    return FsUsage(used, len(seen))

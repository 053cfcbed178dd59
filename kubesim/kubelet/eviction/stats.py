"""What is measured on a node: how much of each signal is available, and what each pod uses.

`StatsProvider` is where the manager gets it from; in a scenario that is the simulated machine.

Mirrors: k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go Summary; pkg/kubelet/eviction/helpers.go
makeSignalObservations; pkg/kubelet/server/stats/summary.go adjustForHugePages
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from kubesim.api.quantity import BINARY_SI, Quantity
from kubesim.kubelet.eviction.signals import MEMORY_AVAILABLE
from kubesim.values import replace, value_object


@value_object
class SignalObservation:
    """`time` is when it was measured; None if that is not known, and then it counts as new."""

    available: Quantity
    capacity: Quantity
    time: int | None = None


Observations = Mapping[str, SignalObservation]  # by signal


@value_object
class FsUsage:
    """What a container or volume takes of a file system; None: not known."""

    used_bytes: int | None = None
    inodes: int | None = None


@value_object
class ContainerUsage:
    name: str
    memory: int | None = None  # the working set, in bytes
    rootfs: FsUsage | None = None
    logs: FsUsage | None = None


@value_object
class PodUsage:
    """`memory` and `processes` are of the whole pod, as its cgroup counts them."""

    memory: int | None = None
    processes: int | None = None
    ephemeral_storage: int | None = None
    containers: tuple[ContainerUsage, ...] = ()
    volumes: Mapping[str, FsUsage] = field(default_factory=dict)


PodUsages = Mapping[str, PodUsage]  # by uid


class StatsProvider(Protocol):
    dedicated_image_fs: bool  # images and writable layers are on a device of their own
    huge_pages: int  # bytes of the memory that are set aside as huge pages

    def observations(self) -> Observations: ...
    def pod_usage(self, uid: str) -> PodUsage | None: ...

    def image_fs(self) -> tuple[int, int]:
        """Bytes available on the file system that holds the images, and its capacity."""
        ...


def without_huge_pages(observations: Observations, huge_pages: int) -> Observations:
    """Memory reserved as huge pages is in no working set, but not available either."""
    observed = observations.get(MEMORY_AVAILABLE)
    if observed is None or not huge_pages:
        return observations
    left = Quantity(max(0, observed.available.value() - huge_pages), 0, BINARY_SI)
    return {**observations, MEMORY_AVAILABLE: replace(observed, available=left)}

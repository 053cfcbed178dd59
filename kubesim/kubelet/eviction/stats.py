"""Stats for eviction: available amounts per signal, and usage per pod.

The manager reads them from a `StatsProvider`; in a scenario that is the simulated machine.

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
    """A measured signal. A `time` of None is unknown and counts as new."""

    available: Quantity
    capacity: Quantity
    time: int | None = None


Observations = Mapping[str, SignalObservation]  # by signal


@value_object
class FsUsage:
    """File system usage of a container or volume; None: unknown."""

    used_bytes: int | None = None
    inodes: int | None = None


@value_object
class ContainerUsage:
    name: str
    memory: int | None = None  # working set in bytes
    rootfs: FsUsage | None = None
    logs: FsUsage | None = None


@value_object
class PodUsage:
    """The usage of a pod. `memory` and `processes` are measured at the pod's cgroup."""

    memory: int | None = None
    processes: int | None = None
    ephemeral_storage: int | None = None
    containers: tuple[ContainerUsage, ...] = ()
    volumes: Mapping[str, FsUsage] = field(default_factory=dict)


PodUsages = Mapping[str, PodUsage]  # by uid


class StatsProvider(Protocol):
    dedicated_image_fs: bool  # images and writable layers are on a device of their own
    huge_pages: int  # bytes of memory reserved as huge pages

    def observations(self) -> Observations: ...
    def pod_usage(self, uid: str) -> PodUsage | None: ...

    def image_fs(self) -> tuple[int, int]:
        """Available bytes and capacity of the image file system."""
        ...


def without_huge_pages(observations: Observations, huge_pages: int) -> Observations:
    """The observation without huge pages: that memory is unavailable, but in no working set."""
    observed = observations.get(MEMORY_AVAILABLE)
    if observed is None or not huge_pages:
        return observations
    left = Quantity(max(0, observed.available.value() - huge_pages), 0, BINARY_SI)
    return {**observations, MEMORY_AVAILABLE: replace(observed, available=left)}

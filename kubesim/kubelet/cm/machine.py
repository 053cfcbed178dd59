"""The machine of a node: NUMA nodes, their memory, cores and CPUs.

Mirrors: github.com/google/cadvisor/info/v1/machine.go MachineInfo
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kubesim.errors import KubesimError
from kubesim.values import value_object


class MachineError(KubesimError):
    """The resource managers cannot work with this machine, configuration or state: the kubelet does not start."""


@value_object
class Core:
    """A physical core: its CPUs (threads) and its last-level cache; None: the cache of its socket."""

    threads: tuple[int, ...]
    socket: int = 0
    uncore_cache: int | None = None


@value_object
class NumaNode:
    id: int
    cores: tuple[Core, ...] = ()
    memory: int = 0  # bytes
    hugepages: Mapping[int, int] = field(default_factory=dict)  # pages, by their size in KiB
    distances: tuple[int, ...] | None = None  # to each NUMA node


@value_object
class MachineInfo:
    topology: tuple[NumaNode, ...] = ()
    num_cpus: int = 0
    num_sockets: int = 1

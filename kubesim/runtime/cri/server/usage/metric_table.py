"""The metrics of containers that a runtime offers, as cAdvisor names them: help, labels, kind and value.

Mirrors: containerd internal/cri/server/list_metric_descriptors.go; cadvisor metrics/prometheus.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.runtime.cri.server.usage.stats_calls import Usage
from kubesim.values import value_object

BASE = ("pod", "namespace", "container", "id", "image")
NETWORK = (*BASE, "interface")
DISK = (*BASE, "device")
COUNTER, GAUGE = "COUNTER", "GAUGE"
_SECOND_NS = 1_000_000_000


@value_object
class Sample:
    """The source of a value. `resources` are the LinuxContainerResources, `started_at` microseconds."""

    usage: Usage
    resources: Any
    started_at: int


@value_object
class MetricKind:
    """`more` are the values of the labels beyond the usual ones; one sample is reported for each entry."""

    name: str
    help: str
    value: Callable[[Sample], int]
    labels: tuple[str, ...] = BASE
    type: str = GAUGE
    more: tuple[tuple[str, ...], ...] = ((),)
    of_pod: bool = False


def _zero(sample: Sample) -> int:
    return 0


def _cpu_s(sample: Sample) -> int:
    return sample.usage.cpu_ns // _SECOND_NS


def _memory(sample: Sample) -> int:
    return sample.usage.memory


def _one(sample: Sample) -> int:
    return sample.usage.processes


def _kinds(rows: str, **common: Any) -> tuple[MetricKind, ...]:
    """A line for each metric that is always 0: its name and its help."""
    found = (line.strip().partition(": ") for line in rows.strip().splitlines())
    return tuple(MetricKind(name, help, _zero, **common) for name, _, help in found)


_ETH0 = (("eth0",),)
_ROOT = (("/dev/vda1",),)

KINDS: tuple[MetricKind, ...] = (
    MetricKind("container_cpu_user_seconds_total", "CPU time in user mode, in seconds.", _zero, type=COUNTER),
    MetricKind("container_cpu_system_seconds_total", "CPU time in the kernel, in seconds.", _zero, type=COUNTER),
    MetricKind("container_cpu_usage_seconds_total", "CPU time, in seconds.", _cpu_s, type=COUNTER),
    *_kinds(
        """
        container_cpu_cfs_periods_total: Periods of the CPU quota that have passed.
        container_cpu_cfs_throttled_periods_total: Periods of the CPU quota in which the container was throttled.
        container_cpu_cfs_throttled_seconds_total: Time for which the container was throttled, in seconds.
        container_memory_failcnt: How often memory usage reached the limit.
        container_oom_events_total: Processes that the OOM killer ended.
        """,
        type=COUNTER,
    ),
    *_kinds(
        """
        container_memory_cache: Page cache, in bytes.
        container_memory_kernel_usage: Kernel memory, in bytes.
        container_memory_mapped_file: Memory of mapped files, in bytes.
        container_memory_swap: Swap usage, in bytes.
        container_memory_total_active_file_bytes: Page cache on the active list, in bytes.
        container_memory_total_inactive_file_bytes: Page cache on the inactive list, in bytes.
        container_file_descriptors: Open file descriptors.
        container_sockets: Open sockets.
        """
    ),
    MetricKind("container_memory_rss", "Anonymous memory, in bytes.", _memory),
    MetricKind("container_memory_usage_bytes", "Memory usage, in bytes.", _memory),
    MetricKind("container_memory_max_usage_bytes", "The largest memory usage so far, in bytes.", _memory),
    MetricKind("container_memory_working_set_bytes", "Memory that cannot be reclaimed, in bytes.", _memory),
    MetricKind(
        "container_memory_failures_total",
        "Page faults.",
        _zero,
        (*BASE, "failure_type", "scope"),
        COUNTER,
        tuple((kind, scope) for scope in ("container", "hierarchy") for kind in ("pgfault", "pgmajfault")),
    ),
    *_kinds(
        """
        container_fs_inodes_free: Inodes that are free.
        container_fs_inodes_total: Inodes of the file system.
        container_fs_limit_bytes: Size of the file system, in bytes.
        """,
        labels=DISK,
        more=_ROOT,
    ),
    MetricKind(
        "container_fs_usage_bytes", "Bytes that the container has written.", lambda s: s.usage.disk, DISK, more=_ROOT
    ),
    *_kinds(
        """
        container_fs_reads_bytes_total: Bytes read from the disk.
        container_fs_reads_total: Reads from the disk.
        container_fs_writes_bytes_total: Bytes written to the disk.
        container_fs_writes_total: Writes to the disk.
        """,
        labels=DISK,
        type=COUNTER,
        more=_ROOT,
    ),
    MetricKind(
        "container_blkio_device_usage_total",
        "Bytes that a block device transferred.",
        _zero,
        (*DISK, "major", "minor", "operation"),
        COUNTER,
        tuple(("/dev/vda1", "254", "1", operation) for operation in ("Read", "Write")),
    ),
    *_kinds(
        """
        container_network_receive_bytes_total: Bytes received.
        container_network_receive_packets_total: Packets received.
        container_network_receive_packets_dropped_total: Packets dropped while receiving.
        container_network_receive_errors_total: Errors while receiving.
        container_network_transmit_bytes_total: Bytes transmitted.
        container_network_transmit_packets_total: Packets transmitted.
        container_network_transmit_packets_dropped_total: Packets dropped while transmitting.
        container_network_transmit_errors_total: Errors while transmitting.
        """,
        labels=NETWORK,
        type=COUNTER,
        more=_ETH0,
        of_pod=True,
    ),
    MetricKind("container_processes", "Processes.", _one),
    MetricKind("container_threads", "Threads.", _one),
    MetricKind("container_threads_max", "Threads that are allowed; 0: without a limit.", _zero),
    MetricKind(
        "container_ulimits_soft",
        "Soft limits of the first process.",
        _zero,
        (*BASE, "ulimit"),
        more=(("max_open_files",),),
    ),
    MetricKind("container_last_seen", "When the container was last seen.", lambda s: s.usage.now // _SECOND_NS),
    MetricKind("container_start_time_seconds", "When the container started.", lambda s: s.started_at // 1_000_000),
    MetricKind("container_spec_cpu_period", "The period of the CPU quota.", lambda s: s.resources.cpu_period),
    MetricKind("container_spec_cpu_quota", "The CPU quota.", lambda s: max(s.resources.cpu_quota, 0)),
    MetricKind("container_spec_cpu_shares", "CPU shares.", lambda s: s.resources.cpu_shares),
    MetricKind(
        "container_spec_memory_limit_bytes", "The memory limit, in bytes.", lambda s: s.resources.memory_limit_in_bytes
    ),
    MetricKind("container_spec_memory_reservation_limit_bytes", "The memory reservation, in bytes.", _zero),
    MetricKind(
        "container_spec_memory_swap_limit_bytes",
        "The limit of memory and swap, in bytes.",
        lambda s: max(s.resources.memory_swap_limit_in_bytes, 0),
    ),
    *_kinds(
        """
        container_pressure_cpu_stalled_seconds_total: Time for which all tasks waited for a CPU, in seconds.
        container_pressure_cpu_waiting_seconds_total: Time for which a task waited for a CPU, in seconds.
        container_pressure_io_stalled_seconds_total: Time for which all tasks waited for a disk, in seconds.
        container_pressure_io_waiting_seconds_total: Time for which a task waited for a disk, in seconds.
        container_pressure_memory_stalled_seconds_total: Time for which all tasks waited for memory, in seconds.
        container_pressure_memory_waiting_seconds_total: Time for which a task waited for memory, in seconds.
        """,
        type=COUNTER,
    ),
)

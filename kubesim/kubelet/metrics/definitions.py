"""The metrics measured in the trace: names, labels and buckets of kubelet v1.36 and containerd 2.3.

containerd's library appends the unit to names that already end with it, so `_total_total` and `_seconds_seconds` are
correct.

Mirrors: pkg/kubelet/metrics/metrics.go; containerd internal/cri/server/metrics.go
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.kubelet.metrics.exposition import DEFAULT_BUCKETS, Histogram, Labels, Metric, exponential_buckets
from kubesim.values import value_object

START_BUCKETS = (
    0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0, 30.0, 45.0, 60.0, 120.0, 180.0, 240.0, 300.0, 360.0, 480.0,
    600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0,
)  # fmt: skip
PULL_BUCKETS = (1.0, 5.0, 10.0, 20.0, 30.0, *START_BUCKETS[12:])
STATUS_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)
_MIB = 1024 * 1024
IMAGE_SIZES = (
    (0, "0-10MB"), (10 * _MIB, "10MB-100MB"), (100 * _MIB, "100MB-500MB"), (500 * _MIB, "500MB-1GB"),
    (1024 * _MIB, "1GB-5GB"), (5 * 1024 * _MIB, "5GB-10GB"), (10 * 1024 * _MIB, "10GB-20GB"),
    (20 * 1024 * _MIB, "20GB-30GB"), (30 * 1024 * _MIB, "30GB-40GB"), (40 * 1024 * _MIB, "40GB-60GB"),
    (60 * 1024 * _MIB, "60GB-100GB"), (100 * 1024 * _MIB, "GT100GB"),
)  # fmt: skip


@value_object
class Definition:
    """A counter, or a histogram if it has `buckets`, with at most one label."""

    name: str
    help: str
    buckets: tuple[float, ...] = ()
    label: str = ""


WORKER = Definition(
    "kubelet_pod_worker_duration_seconds",
    "From an update of a pod to the end of the resulting sync, by the type of the update.",
    DEFAULT_BUCKETS,
    "operation_type",
)
WORKER_START = Definition(
    "kubelet_pod_worker_start_duration_seconds", "From seeing a pod to the first sync of its worker.", DEFAULT_BUCKETS
)
POD_START = Definition(
    "kubelet_pod_start_duration_seconds",
    "From seeing a pod to its phase Running; the first sync of each pod is counted too, as the kubelet does.",
    START_BUCKETS,
)
START_TOTAL = Definition(
    "kubelet_pod_start_total_duration_seconds",
    "From the creation of a pod to the kubelet seeing that all its containers have started.",
    START_BUCKETS,
)
START_SLI = Definition(
    "kubelet_pod_start_sli_duration_seconds",
    "From creation to start without pulls of images and init containers, of pods without storage.",
    START_BUCKETS,
)
STATUS_SYNC = Definition(
    "kubelet_pod_status_sync_duration_seconds", "From a pod's first status to each write of a status.", STATUS_BUCKETS
)
IMAGE_PULL = Definition(
    "kubelet_image_pull_duration_seconds",
    "Pulls of images with the time that they waited for others, by the size of the image.",
    PULL_BUCKETS,
    "image_size_in_bytes",
)
OPERATIONS = Definition(
    "kubelet_runtime_operations_total", "Calls that change something in the runtime.", label="operation_type"
)
OPERATION = Definition(
    "kubelet_runtime_operations_duration_seconds",
    "Durations of calls that change something in the runtime.",
    exponential_buckets(0.005, 2.5, 14),
    "operation_type",
)
OPERATION_ERRORS = Definition(
    "kubelet_runtime_operations_errors_total",
    "Calls that change something in the runtime and failed.",
    label="operation_type",
)


def _network_operations(total: str, duration: str, errors: str) -> tuple[Definition, Definition, Definition]:
    label = "operation_type"
    return (
        Definition(total, "Set-ups and tear-downs of a pod's network by real plugins.", label=label),
        Definition(duration, "How long the plugins of a set-up or tear-down took.", DEFAULT_BUCKETS, label),
        Definition(errors, "Set-ups and tear-downs that failed.", label=label),
    )


_CRI = "containerd_cri_network_plugin_operations"
NETWORK_OPERATIONS, NETWORK_OPERATION, NETWORK_ERRORS = OF_CONTAINERD = _network_operations(
    f"{_CRI}_total_total", f"{_CRI}_duration_seconds_seconds", f"{_CRI}_errors_total_total"
)
# For kubelets that call plugins themselves (v1.6 and v1.12), with the metric names of dockershim v1.18.
_KUBELET = "kubelet_network_plugin_operations"
KUBELET_NETWORK_OPERATIONS, KUBELET_NETWORK_OPERATION, KUBELET_NETWORK_ERRORS = OF_KUBELET = _network_operations(
    f"{_KUBELET}_total", f"{_KUBELET}_duration_seconds", f"{_KUBELET}_errors_total"
)


class Measurements:
    """Values of the metrics since the start of one process."""

    def __init__(self) -> None:
        self._counts: dict[Definition, dict[Labels, float]] = {}
        self._histograms: dict[Definition, dict[Labels, Histogram]] = {}

    def count(self, what: Definition, label: str) -> None:
        samples, labels = self._counts.setdefault(what, {}), ((what.label, label),)
        samples[labels] = samples.get(labels, 0) + 1

    def observe(self, what: Definition, duration: int, label: str = "", times: int = 1) -> None:
        """Count a duration in microseconds."""
        samples = self._histograms.setdefault(what, {})
        labels = ((what.label, label),) if what.label else ()
        if labels not in samples:
            samples[labels] = Histogram(what.buckets)
        samples[labels].observe(duration, times)

    def clear(self) -> None:
        """Reset all values: the process restarts."""
        self._counts.clear()
        self._histograms.clear()

    def metrics(self) -> Iterator[Metric]:
        for what, counts in self._counts.items():
            yield Metric(what.name, "counter", what.help, counts)
        for what, histograms in self._histograms.items():
            yield Metric(what.name, "histogram", what.help, histograms)


def image_size_label(size: int) -> str:
    return next(label for lower, label in reversed(IMAGE_SIZES) if size >= lower)

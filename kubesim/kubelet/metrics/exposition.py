"""Counters, gauges, histograms, and the Prometheus text format.

Durations are whole microseconds until they are printed, so that sums are exact and the same on every machine.

Mirrors: component-base/metrics; prometheus/common expfmt/text_create.go
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from decimal import Decimal
from typing import Literal

from kubesim.values import replace, value_object

Labels = tuple[tuple[str, str], ...]

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bucket bounds; each is the previous one times `factor`."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


class Histogram:
    """A histogram of durations. `bounds` are the upper ends of the buckets in seconds; the last bucket is unbounded."""

    __slots__ = ("_bounds", "_buckets", "_total")

    def __init__(self, bounds: tuple[float, ...] = DEFAULT_BUCKETS) -> None:
        self._bounds = bounds
        self._buckets = [0] * (len(bounds) + 1)
        self._total = 0

    def observe(self, duration: int, times: int = 1) -> None:
        """Count a duration in microseconds; a bucket includes its upper bound."""
        self._buckets[bisect_left(self._bounds, duration / 1_000_000)] += times
        self._total += duration * times

    def samples(self, labels: Labels) -> Iterator[tuple[str, Labels, float]]:
        """Name suffix, labels and value. Buckets are cumulative."""
        count = 0
        for bound, observed in zip((*self._bounds, float("inf")), self._buckets, strict=True):
            count += observed
            yield "_bucket", (*labels, ("le", format_value(bound))), count
        yield "_sum", labels, self._total / 1_000_000
        yield "_count", labels, count


@value_object
class Metric:
    """A metric with its samples: labels -> value."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    samples: Mapping[Labels, float | Histogram] = field(default_factory=dict)


def render_metrics(metrics: Iterable[Metric]) -> str:
    """The metrics in the Prometheus text format, sorted by name and labels. A metric without samples is omitted."""
    lines: list[str] = []
    for metric in sorted(metrics, key=lambda metric: metric.name):
        if metric.samples:
            lines += [f"# HELP {metric.name} {metric.help.translate(_HELP_ESCAPES)}"]
            lines += [f"# TYPE {metric.name} {metric.kind}"]
            for labels, value in sorted(metric.samples.items(), key=lambda sample: sample[0]):
                rows = value.samples(labels) if isinstance(value, Histogram) else (("", labels, value),)
                lines += (f"{metric.name}{suffix}{_labels(own)} {format_value(number)}" for suffix, own, number in rows)
    return "".join(line + "\n" for line in lines)


def by_instance(metrics: Iterable[tuple[str, Iterable[Metric]]]) -> list[Metric]:
    """The merged metrics of several nodes; each sample gets an `instance` label, as Prometheus would add it."""
    merged: dict[str, Metric] = {}
    for node, own in metrics:
        for metric in own:
            samples = {tuple(sorted((*labels, ("instance", node)))): value for labels, value in metric.samples.items()}
            before = merged[metric.name].samples if metric.name in merged else {}
            merged[metric.name] = replace(metric, samples={**before, **samples})
    return list(merged.values())


def _labels(labels: Labels) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def format_value(value: float) -> str:
    """A number in Go's shortest format: 0.005, 12, 1.5e+06, +Inf."""
    if value == float("inf"):
        return "+Inf"
    number = Decimal(repr(float(value))).normalize()
    power = number.adjusted()
    if not number or -4 <= power < 6:
        return f"{number:f}"
    return f"{number.scaleb(-power):f}e{power:+03d}"

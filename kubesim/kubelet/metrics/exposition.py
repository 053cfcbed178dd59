"""Counters, gauges and histograms, and the text format in which Prometheus reads them.

Durations are whole microseconds until they are written, so that a sum is exact and the same on every machine.

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
    """Each bound is the one before it times `factor`."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


class Histogram:
    """Counts durations by size. `bounds` are seconds, upper ends of the buckets; above the last one there is no end."""

    __slots__ = ("_bounds", "_buckets", "_total")

    def __init__(self, bounds: tuple[float, ...] = DEFAULT_BUCKETS) -> None:
        self._bounds = bounds
        self._buckets = [0] * (len(bounds) + 1)
        self._total = 0

    def observe(self, duration: int, times: int = 1) -> None:
        """Count a duration in microseconds; a value equal to a bound belongs below it."""
        self._buckets[bisect_left(self._bounds, duration / 1_000_000)] += times
        self._total += duration * times

    def samples(self, labels: Labels) -> Iterator[tuple[str, Labels, float]]:
        """Suffix of the name, labels and value; a bucket counts all that is not above its bound."""
        count = 0
        for bound, observed in zip((*self._bounds, float("inf")), self._buckets, strict=True):
            count += observed
            yield "_bucket", (*labels, ("le", format_value(bound))), count
        yield "_sum", labels, self._total / 1_000_000
        yield "_count", labels, count


@value_object
class Metric:
    """One metric with its samples: labels -> value."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    samples: Mapping[Labels, float | Histogram] = field(default_factory=dict)


def render_metrics(metrics: Iterable[Metric]) -> str:
    """In the text format of Prometheus, by name, samples by their labels; a metric without samples is left out."""
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
    """The metrics of several nodes as one: each sample has the name of its node, as a Prometheus would add it."""
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
    """A number in Go's format in its shortest form: 0.005, 12, 1.5e+06, +Inf."""
    if value == float("inf"):
        return "+Inf"
    number = Decimal(repr(float(value))).normalize()
    power = number.adjusted()
    if not number or -4 <= power < 6:
        return f"{number:f}"
    return f"{number.scaleb(-power):f}e{power:+03d}"

"""Histograms, and metrics in the Prometheus format."""

from __future__ import annotations

import pytest

from kubesim.kubelet.metrics.definitions import IMAGE_PULL, OPERATION, Measurements, image_size_label
from kubesim.kubelet.metrics.exposition import Histogram, Metric, by_instance, format_value, render_metrics
from tests.support.prometheus import read_metrics


def test_metrics_in_the_format_of_prometheus() -> None:
    metrics = [
        Metric("b_total", "counter", "Things.", {(("what", 'a "thing"\\'),): 2, (("what", "x"),): 1}),
        Metric("a", "gauge", "Plain,\nwith \\.", {(): 0.5}),
        Metric("none", "gauge", "Nothing.", {}),
    ]
    assert render_metrics(metrics) == (
        "# HELP a Plain,\\nwith \\\\.\n# TYPE a gauge\na 0.5\n"
        "# HELP b_total Things.\n# TYPE b_total counter\n"
        'b_total{what="a \\"thing\\"\\\\"} 2\nb_total{what="x"} 1\n'
    )


def test_a_histogram_counts_values_up_to_each_bound() -> None:
    histogram = Histogram((0.5, 1.0))
    histogram.observe(500_000)  # equal to a bound: counted below it
    histogram.observe(500_001, times=2)
    histogram.observe(7_000_000)
    assert render_metrics([Metric("h", "histogram", "Help.", {(("k", "v"),): histogram})]) == (
        "# HELP h Help.\n# TYPE h histogram\n"
        'h_bucket{k="v",le="0.5"} 1\nh_bucket{k="v",le="1"} 3\nh_bucket{k="v",le="+Inf"} 4\n'
        'h_sum{k="v"} 8.500002\nh_count{k="v"} 4\n'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12, "12"),
        (0.005, "0.005"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (123456, "123456"),
        (1_000_000, "1e+06"),
        (1_234_567.5, "1.2345675e+06"),
        (298.0232238769531, "298.0232238769531"),
        (float("inf"), "+Inf"),
    ],
)
def test_numbers_are_printed_as_go_prints_them(value: float, text: str) -> None:
    assert format_value(value) == text


def test_the_buckets_of_runtime_operations_are_the_kubelets() -> None:
    assert [format_value(bound) for bound in OPERATION.buckets[:4]] == ["0.005", "0.0125", "0.03125", "0.078125"]
    assert (len(OPERATION.buckets), OPERATION.buckets[-1]) == (14, 745.0580596923828)


def test_images_are_counted_by_size() -> None:
    assert image_size_label(0) == "0-10MB"
    assert image_size_label(10 * 1024 * 1024) == "10MB-100MB"
    assert image_size_label(1 << 40) == "GT100GB"
    assert IMAGE_PULL.buckets[:6] == (1, 5, 10, 20, 30, 60)


def test_samples_of_several_nodes_have_their_names() -> None:
    first, second = Measurements(), Measurements()
    first.count(OPERATION, "run_podsandbox")
    first.observe(OPERATION, 5, "run_podsandbox")
    second.observe(OPERATION, 5, "run_podsandbox")
    merged = by_instance([("n1", [*first.metrics()][1:]), ("n2", second.metrics())])
    family = read_metrics(render_metrics(merged))[OPERATION.name]
    for node in ("n1", "n2"):
        assert family.value("_count", operation_type="run_podsandbox", instance=node) == 1

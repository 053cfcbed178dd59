"""Room for a pod's requests, and the scores of free and balanced resources.

Adapted from: plugins/noderesources fit_test.go TestEnoughRequests, TestNotEnoughRequests, least_allocated_test.go,
balanced_allocation_test.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import Node
from kubesim.cluster.scheduling.plugins.nodes import balanced_allocation, node_resources_fit
from tests.support.cluster.scheduled import answers, cycle_of, node, pod, pod_object

Amounts = dict[str, Any]
EXTENDED, OTHER, HUGE = "example.com/aaa", "example.com/bbb", "hugepages-2Mi"


def small_node() -> Node:
    """A node with 10 millicores, 20 bytes, 32 pods, 5 of an extended resource, 5 huge pages."""
    found = node("n")
    allocatable = {"cpu": "10m", "memory": "20", "pods": "32", "ephemeral-storage": "20", EXTENDED: "5", HUGE: "5"}
    return found.changed(status=found.status.changed(allocatable=allocatable))


def asking(*containers: Amounts, init: tuple[Amounts, ...] = (), overhead: Amounts | None = None) -> Any:
    def made(amounts: Amounts) -> dict[str, Any]:
        return {
            "name": "c",
            "image": "i",
            "resources": {"requests": {name: str(value) for name, value in amounts.items()}},
        }

    manifest = pod("p")
    manifest["spec"]["containers"] = [made(each) for each in containers] or [made({})]
    manifest["spec"]["initContainers"] = [made(each) for each in init]
    if overhead:
        manifest["spec"]["overhead"] = overhead
    return manifest


def need(cpu: int, memory: int, **others: int) -> Amounts:
    named = {"extended": EXTENDED, "other": OTHER, "huge": HUGE, "storage": "ephemeral-storage"}
    return {"cpu": f"{cpu}m", "memory": memory, **{named[name]: value for name, value in others.items()}}


@pytest.mark.parametrize(
    ("incoming", "existing", "reasons", "unresolvable"),
    [
        (asking(), need(10, 20), (), False),
        (asking(need(1, 1)), need(10, 20), ("cpu", "memory"), False),
        (asking(need(1, 1), init=(need(3, 1),)), need(8, 19), ("cpu",), False),
        (asking(need(1, 1), init=(need(3, 1), need(2, 1))), need(8, 19), ("cpu",), False),
        (asking(need(1, 1), init=(need(1, 3),)), need(9, 19), ("memory",), False),
        (asking(need(1, 1), init=(need(1, 3), need(1, 2))), need(9, 19), ("memory",), False),
        (asking(need(1, 1), init=(need(1, 1),)), need(9, 19), (), False),
        (asking(need(1, 1), init=(need(1, 1), need(1, 1))), need(9, 19), (), False),
        (asking(need(1, 1)), need(5, 5), (), False),
        (asking(need(2, 1)), need(9, 5), ("cpu",), False),
        (asking(need(1, 2)), need(5, 19), ("memory",), False),
        (asking(need(5, 1)), need(5, 19), (), False),
        (asking(need(4, 1), init=(need(5, 1),)), need(5, 19), (), False),
        (asking({EXTENDED: 1}), {}, (), False),
        (asking(init=({EXTENDED: 1},)), {}, (), False),
        (asking(need(1, 1, extended=10)), need(0, 0, extended=0), (EXTENDED,), True),
        (asking(init=(need(1, 1, extended=10),)), need(0, 0, extended=0), (EXTENDED,), True),
        (asking(need(1, 1, extended=1)), need(0, 0, extended=5), (EXTENDED,), False),
        (asking(init=(need(1, 1, extended=1),)), need(0, 0, extended=5), (EXTENDED,), False),
        (asking(need(1, 1, extended=3), need(1, 1, extended=3)), need(0, 0, extended=2), (EXTENDED,), True),
        (asking(init=(need(1, 1, extended=3), need(1, 1, extended=3))), need(0, 0, extended=2), (), False),
        (asking(init=(need(1, 1, extended=6), need(1, 1, extended=3))), need(0, 0, extended=2), (EXTENDED,), True),
        (asking(need(1, 1, other=1)), need(0, 0), (OTHER,), True),
        (asking(init=(need(1, 1, other=1),)), need(0, 0), (OTHER,), True),
        (asking(need(1, 1, huge=10)), need(0, 0, huge=0), (HUGE,), True),
        (asking(init=(need(1, 1, huge=10),)), need(0, 0, huge=0), (HUGE,), True),
        (asking(need(1, 1, huge=3), need(1, 1, huge=3)), need(0, 0, huge=2), (HUGE,), True),
        (asking(need(1, 1), overhead={"cpu": "3m", "memory": "13"}), need(5, 5), (), False),
        (asking(need(1, 1), overhead={"cpu": "1m", "memory": "15"}), need(5, 5), ("memory",), False),
        (asking(need(1, 1, storage=25)), need(0, 0), ("ephemeral-storage",), True),
    ],
)  # fmt: skip
def test_fit(incoming: Any, existing: Amounts, reasons: tuple[str, ...], unresolvable: bool) -> None:
    cycle = cycle_of(pod_object(incoming), [small_node()], [pod_object(asking(existing), "n", "existing")])
    status = node_resources_fit.filter_node(cycle, cycle.snapshot.nodes["n"])
    if not reasons:
        assert status is None
        return
    assert status is not None
    assert status.reasons == tuple(f"Insufficient {name}" for name in reasons)
    assert status.unresolvable == unresolvable


def test_a_node_at_its_pod_limit_rejects_even_pods_without_requests() -> None:
    cycle = cycle_of(pod_object(pod("p")), [node("n", pods=1)], [pod_object(pod("other"), "n")])
    status = node_resources_fit.filter_node(cycle, cycle.snapshot.nodes["n"])
    assert status is not None
    assert status.reasons == ("Too many pods",)
    assert answers(node_resources_fit.PLUGIN, cycle) == ["refused"]


@pytest.mark.parametrize(
    ("incoming", "nodes", "existing", "scores"),
    [
        # Pods without requests count as 100 millicores and 200 MiB.
        (asking({"cpu": 0, "memory": 0}), [("4", "10000"), ("4", "10000")], {}, [100, 100]),
        (asking({"cpu": "1", "memory": "2000"}, {"cpu": "2", "memory": "3000"}), [("4", "10000"), ("6", "10000")], {},
         [37, 50]),
        (asking({"cpu": "1", "memory": "2000"}, {"cpu": "2", "memory": "3000"}), [("10", "20000"), ("10", "20000")],
         {0: {"cpu": "3", "memory": "0"}, 1: {"cpu": "3", "memory": "5000"}}, [57, 45]),
        (asking({"cpu": "1", "memory": "2000"}, {"cpu": "2", "memory": "3000"}), [("4", "10000"), ("4", "10000")],
         {0: {"cpu": "3", "memory": "0"}, 1: {"cpu": "3", "memory": "5000"}}, [25, 0]),
        (asking({"cpu": 0, "memory": 0}), [("0", "0"), ("0", "0")], {}, [0, 0]),
    ],
)  # fmt: skip
def test_least_allocated(
    incoming: Any, nodes: list[tuple[str, str]], existing: dict[int, Amounts], scores: list[int]
) -> None:
    others = [pod_object(asking(amounts), f"n{number}", f"u{number}") for number, amounts in existing.items()]
    cycle = cycle_of(pod_object(incoming), [node(f"n{n}", *amounts) for n, amounts in enumerate(nodes)], others)
    assert node_resources_fit.score(cycle, list(cycle.snapshot.nodes.values())) == scores


@pytest.mark.parametrize(
    ("incoming", "nodes", "existing", "scores"),
    [
        (asking({"cpu": "3", "memory": "5000"}), [("4", "10000"), ("6", "10000")], {}, [68, 75]),
        (asking({}), [("4", "10000"), ("4", "10000")], {}, None),
        (asking({"cpu": "3", "memory": "5000"}), [("10", "20000"), ("10", "50000")],
         {0: {"cpu": "3", "memory": "0"}, 1: {"cpu": "3", "memory": "5000"}}, [73, 70]),
    ],
)  # fmt: skip
def test_balanced_allocation(
    incoming: Any, nodes: list[tuple[str, str]], existing: dict[int, Amounts], scores: list[int] | None
) -> None:
    others = [pod_object(asking(amounts), f"n{number}", f"u{number}") for number, amounts in existing.items()]
    cycle = cycle_of(pod_object(incoming), [node(f"n{n}", *amounts) for n, amounts in enumerate(nodes)], others)
    found = balanced_allocation.score(cycle, list(cycle.snapshot.nodes.values()))
    assert found == scores

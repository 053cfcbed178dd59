"""Upstream's tables of the allocation manager, pkg/kubelet/allocation/allocation_manager_test.go.

TestRetryPendingResizes (19 rows; the 15 without pod-level resources for three kinds of containers),
TestRetryPendingResizesWithSwap (3), TestRetryPendingResizesMultipleConditions (6),
TestAllocationManagerAddPodWithPLR (9), TestAllocationManagerAddPod (8), TestIsResizeIncreasingRequests (18),
TestSortPendingResizes. All rows except three, in which InPlacePodVerticalScaling is disabled; v1.36 does not allow
that.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.features import DEFAULT_GATES, FeatureGates, configured_gates
from kubesim.runtime.allocation.allocated import AllocationState
from kubesim.runtime.allocation.swap import NodeSwap
from tests.support.allocation import AllocatingKubelet, amounts, container, played
from tests.support.allocation import resizable_pod as pod

Json = dict[str, Any]
IN_PROGRESS, PENDING = "PodResizeInProgress", "PodResizePending"
GI = 1 << 30


# -- TestRetryPendingResizes --------------------------------------------------------------------------------------

ONE, HALF, OTHER = amounts("1", "1Gi"), amounts("500m", "500Mi"), pod("other", container("c1", amounts("1", "1Gi")))
THIRD = pod("third", container("c1", amounts("1", "1Gi")))
STARTED = ((IN_PROGRESS, "", ""),)


def deferred(message: str) -> tuple[tuple[str, str, str], ...]:
    return ((PENDING, "Deferred", message),)


NO_MEMORY = "Node didn't have enough resource: memory"
RESIZES = [
    pytest.param(ONE, HALF, STARTED, id="Request CPU and memory decrease"),
    pytest.param(ONE, amounts("1500m", "500Mi"), STARTED, id="Request CPU increase, memory decrease"),
    pytest.param(ONE, amounts("500m", "1500Mi"), STARTED, id="Request CPU decrease, memory increase"),
    pytest.param(
        ONE,
        amounts("2500m", "2500Mi"),
        deferred("Node didn't have enough resource: cpu"),
        id="Request CPU and memory increase beyond current capacity",
    ),
    pytest.param(
        ONE,
        amounts("500m", "2500Mi"),
        deferred(NO_MEMORY),
        id="Request CPU decrease and memory increase beyond current capacity",
    ),
    pytest.param(
        ONE,
        amounts("1", "4500Mi"),
        deferred(f"{NO_MEMORY}, requested: 4718592000, used: 2147483648, capacity: 4294967296"),
        id="Request memory increase beyond node capacity",
    ),
    pytest.param(
        ONE,
        amounts("5", "1Gi"),
        deferred("Node didn't have enough resource: cpu, requested: 5000, used: 2000, capacity: 4000"),
        id="Request CPU increase beyond node capacity",
    ),
    pytest.param(ONE, ONE, (), id="No resize"),
    pytest.param(amounts("2m"), amounts("1"), STARTED, id="Increase CPU from min shares"),
    pytest.param(amounts("1"), amounts("2m"), STARTED, id="Decrease CPU to min shares"),
]


def of_kind(kind: str, requests: Json, limits: Json | None = None) -> Pod:
    if kind == "regular":
        return pod("a", container("c1", requests, limits))
    more = {"restartPolicy": "Always"} if kind == "sidecar" else {}
    return pod("a", init=(container("c1", requests, limits, **more),))


def conditions(kubelet: AllocatingKubelet, uid: str = "a") -> list[tuple[str, str, str]]:
    return [(c.type, c.reason, c.message) for c in kubelet.conditions.get(uid)]


def agree(found: list[tuple[str, str, str]], expected: tuple[tuple[str, str, str], ...]) -> bool:
    """An expected message is a part of the actual one; an empty one is empty."""
    return len(found) == len(expected) and all(
        (one[0], one[1]) == (other[0], other[1]) and (other[2] in one[2] if other[2] else not one[2])
        for one, other in zip(found, expected, strict=True)
    )


KINDS = ("regular", "non-sidecar-init", "sidecar")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("before", "after", "expected"), RESIZES)
def test_a_pending_resize(kind: str, before: Json, after: Json, expected: tuple[tuple[str, str, str], ...]) -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet()
        await kubelet.add(of_kind(kind, before), OTHER, THIRD)
        await kubelet.resize(of_kind(kind, after))
        assert agree(conditions(kubelet), expected)
        allocated = kubelet.state.get("a")
        assert allocated is not None
        assert allocated.containers["c1"].requests == (before if PENDING in str(expected) else after)
        assert kubelet.synced == (["a"] if expected else [])

    played(story)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("10m", "20m", id="Increase CPU from min limit"),
        pytest.param("20m", "10m", id="Decrease CPU to min limit"),
    ],
)
def test_a_pending_resize_of_a_limit(kind: str, before: str, after: str) -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet()
        await kubelet.add(of_kind(kind, amounts("10m"), amounts(before)), OTHER, THIRD)
        await kubelet.resize(of_kind(kind, amounts("10m"), amounts(after)))
        assert agree(conditions(kubelet), STARTED)
        allocated = kubelet.state.get("a")
        assert allocated is not None
        assert allocated.containers["c1"].limits == amounts(after)

    played(story)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("already", "after", "expected"),
    [
        pytest.param(
            True,
            amounts("1500m", "1Gi"),
            ((IN_PROGRESS, "", "original in-progress"),),
            id="CPU increase in progress, resources unchanged",
        ),
        pytest.param(False, amounts("1500m", "1Gi"), STARTED, id="CPU increase in progress, new allocation"),
        pytest.param(
            False,
            amounts("500m", "2500Mi"),
            ((PENDING, "Deferred", NO_MEMORY), (IN_PROGRESS, "", "original in-progress")),
            id="Deferred resize doesn't clear in-progress status",
        ),
    ],
)
def test_existing_conditions(kind: str, already: bool, after: Json, expected: tuple[tuple[str, str, str], ...]) -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet()
        await kubelet.add(of_kind(kind, after if already else ONE), OTHER, THIRD)
        kubelet.conditions.set_in_progress("a", "", "original in-progress", 0, 0)
        kubelet.conditions.set_pending("a", "Deferred", "original pending", 0, 0)
        await kubelet.resize(of_kind(kind, after))
        assert agree(conditions(kubelet), expected)
        assert kubelet.synced == ["a"]

    played(story)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(amounts("2", "2Gi"), STARTED, id="pod-level: Request CPU and memory increase"),
        pytest.param(amounts("1200m", "1200Mi"), STARTED, id="pod-level: Request CPU and memory decrease"),
        pytest.param(
            amounts("2500m", "1500Mi"),
            deferred("Node didn't have enough resource: cpu"),
            id="pod-level: Request CPU increase beyond current capacity",
        ),
        pytest.param(
            amounts("1500m", "4500Mi"),
            deferred(f"{NO_MEMORY}, requested: 4718592000, used: 2147483648, capacity: 4294967296"),
            id="pod-level: Request memory increase beyond node capacity",
        ),
    ],
)
def test_a_pending_pod_level_resize(after: Json, expected: tuple[tuple[str, str, str], ...]) -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet()
        before = amounts("1500m", "1500Mi")
        await kubelet.add(pod("a", container("c1", ONE), resources={"requests": before}), OTHER, THIRD)
        await kubelet.resize(pod("a", container("c1", ONE), resources={"requests": after}))
        assert agree(conditions(kubelet), expected)
        allocated = kubelet.state.get("a")
        assert allocated is not None
        assert allocated.pod is not None
        assert allocated.pod.requests == (after if expected == STARTED else before)

    played(story)


# -- TestRetryPendingResizesWithSwap ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behavior", "policy", "expected"),
    [
        pytest.param("NoSwap", "RestartContainer", STARTED, id="NoSwap Request Memory decrease RestartContainer"),
        pytest.param("LimitedSwap", "RestartContainer", STARTED, id="LimitedSwap Request Memory RestartContainer"),
        pytest.param(
            "LimitedSwap",
            "NotRequired",
            ((PENDING, "Infeasible", "In-place resize of containers with swap is not supported."),),
            id="LimitedSwap Request Memory NotRequired",
        ),
        pytest.param("NoSwap", "NotRequired", STARTED, id="NoSwap, NotRequired"),
    ],
)
def test_resize_with_swap(behavior: str, policy: str, expected: tuple[tuple[str, str, str], ...]) -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet(swap=NodeSwap(GI, 4 * GI, behavior))
        policies = [{"resourceName": "memory", "restartPolicy": policy}]
        await kubelet.add(pod("a", container("c1", ONE, resizePolicy=policies)))
        await kubelet.resize(pod("a", container("c1", HALF, resizePolicy=policies)))
        assert agree(conditions(kubelet), expected)
        assert kubelet.allocated_cpu("a") == ("500m" if expected == STARTED else "1")

    played(story)


# -- TestRetryPendingResizesMultipleConditions --------------------------------------------------------------------


def test_conditions_in_sequence() -> None:
    full = "Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000"
    pending = (PENDING, "Deferred", full, 2)
    rows: list[tuple[str, str, int, list[tuple[str, str, str, int]], str]] = [
        ("1", "1Gi", 1, [(IN_PROGRESS, "", "", 1)], "Normal ResizeStarted Pod resize started: "),
        ("5", "4500Mi", 2, [pending, (IN_PROGRESS, "", "", 1)], "Warning ResizeDeferred Pod resize OutOfcpu: "),
        ("5", "4500Mi", 2, [pending, (IN_PROGRESS, "", "", 1)], ""),
        ("1", "1Gi", 3, [(IN_PROGRESS, "", "", 1)], ""),
        ("1", "1Gi", 4, [(IN_PROGRESS, "", "", 1)], ""),
        ("500m", "500Mi", 5, [(IN_PROGRESS, "", "", 5)], "Normal ResizeStarted Pod resize started: "),
    ]

    async def story() -> None:
        kubelet = AllocatingKubelet()
        await kubelet.add(pod("a", container("c1", HALF)))
        for cpu, memory, generation, expected, event in rows:
            kubelet.events.clear()
            await kubelet.resize(pod("a", container("c1", amounts(cpu, memory)), generation=generation))
            found = [(c.type, c.reason, c.message, c.observed_generation) for c in kubelet.conditions.get("a")]
            assert found == expected, generation
            assert [str(one).startswith(event) for one in kubelet.events] == ([True] if event else []), generation

    played(story)


# -- TestAllocationManagerAddPod, TestAllocationManagerAddPodWithPLR ------------------------------------------------

TWO = amounts("2", "2Gi")
SMALL = pod("a", container("c1", ONE))
LARGE = pod("a", container("c1", TWO))
SMALL_LEVEL = pod("a", container("c1", ONE), resources={"requests": ONE})
SMALL_OVERHEAD = pod("a", container("c1", ONE), resources={"requests": ONE}, overhead=amounts("100m", "200Mi"))
LARGE_LEVEL = pod("a", container("c1", TWO), resources={"requests": TWO})
WITH, WITHOUT = (configured_gates({"InPlacePodLevelResourcesVerticalScaling": on}) for on in (True, False))


def at_most_one_cpu(asked: Pod) -> tuple[str, str]:
    level = asked.spec.resources
    cpu = str((asked.spec.containers[0].resources if level is None else level).requests["cpu"])
    return ("", "") if cpu == "1" else ("OutOfcpu", f"not enough CPUs available, requested: {cpu}, available:1")


REFUSED = ("OutOfcpu", "not enough CPUs available, requested: 2, available:1")


@pytest.mark.parametrize(
    ("gates", "initial", "added", "picky", "answer", "containers", "level"),
    [
        pytest.param(DEFAULT_GATES, None, SMALL, False, ("", ""), ONE, None, id="New pod admitted"),
        pytest.param(DEFAULT_GATES, None, LARGE, True, REFUSED, None, None, id="New pod not admitted"),
        pytest.param(DEFAULT_GATES, SMALL, SMALL, False, ("", ""), ONE, None, id="no pod resize request"),
        pytest.param(DEFAULT_GATES, None, LARGE, False, ("", ""), TWO, None, id="current allocation not found"),
        pytest.param(
            DEFAULT_GATES, SMALL, LARGE, True, ("", ""), ONE, None, id="request different from current allocation"
        ),
        pytest.param(WITH, None, SMALL_LEVEL, False, ("", ""), ONE, ONE, id="PLR - New pod admitted"),
        pytest.param(
            WITH, None, SMALL_OVERHEAD, False, ("", ""), ONE, ONE, id="PLR - New pod with overhead, without overhead"
        ),
        pytest.param(WITHOUT, None, SMALL_LEVEL, False, ("", ""), ONE, None, id="PLR Disabled - New pod admitted"),
        pytest.param(WITH, None, LARGE_LEVEL, True, REFUSED, None, None, id="PLR - New pod not admitted"),
        pytest.param(WITHOUT, None, LARGE_LEVEL, True, REFUSED, None, None, id="PLR Disabled - New pod not admitted"),
        pytest.param(WITH, SMALL_LEVEL, SMALL_LEVEL, False, ("", ""), ONE, ONE, id="PLR - no pod resize request"),
        pytest.param(WITH, None, LARGE_LEVEL, False, ("", ""), TWO, TWO, id="PLR - current allocation not found"),
        pytest.param(
            WITH, SMALL_LEVEL, LARGE_LEVEL, True, ("", ""), ONE, ONE, id="PLR - request different from allocation"
        ),
        pytest.param(
            WITHOUT,
            SMALL,
            LARGE_LEVEL,
            True,
            REFUSED,
            ONE,
            None,
            id="PLR Disabled - request different. Admission fails",
        ),
    ],
)
def test_a_pod_is_added(
    gates: FeatureGates,
    initial: Pod | None,
    added: Pod,
    picky: bool,
    answer: tuple[str, str],
    containers: Json | None,
    level: Json | None,
) -> None:
    async def story() -> None:
        state = AllocationState()
        if initial is not None:
            state.set(initial, gates)
        kubelet = AllocatingKubelet(state=state, gates=gates)
        if picky:
            kubelet.manager.admit_before.append(at_most_one_cpu)
        assert await kubelet.add(added) == [answer]
        found = state.get("a")
        assert (None if found is None else found.containers["c1"].requests) == containers
        assert (None if found is None or found.pod is None else found.pod.requests) == level

    played(story)


# -- TestIsResizeIncreasingRequests -------------------------------------------------------------------------------

PODS_OWN = amounts("2500m", "2500Mi")


@pytest.mark.parametrize(
    ("level", "changes", "expected"),
    [
        pytest.param(None, {0: amounts("1500m", "1500Mi")}, True, id="increase requests, one container"),
        pytest.param(None, {0: HALF}, False, id="decrease requests, one container"),
        pytest.param(None, {0: amounts("1500m", "500Mi")}, True, id="increase cpu, decrease memory, one container"),
        pytest.param(None, {0: amounts("500m", "1500Mi")}, True, id="increase memory, decrease cpu, one container"),
        pytest.param(
            None,
            {0: amounts("1500m", "1500Mi"), 1: amounts("500m", "500Mi")},
            False,
            id="one up, one down, net neutral",
        ),
        pytest.param(None, {0: HALF, 1: HALF}, False, id="decrease requests, two containers"),
        pytest.param(None, {0: {}}, False, id="remove requests"),
        pytest.param(None, {2: ONE}, True, id="add requests"),
        pytest.param(amounts("3", "2500Mi"), {}, True, id="pod-level: increase cpu"),
        pytest.param(amounts("2500m", "2000Mi"), {}, False, id="pod-level: decrease memory"),
        pytest.param(amounts("3", "2000Mi"), {}, True, id="pod-level: increase cpu, decrease memory"),
        pytest.param(PODS_OWN, {0: amounts("1500m", "1Gi")}, False, id="container-level: increase cpu"),
        pytest.param(PODS_OWN, {0: amounts("500m", "1Gi")}, False, id="container-level: decrease cpu"),
        pytest.param(
            amounts("2600m", "2500Mi"), {0: amounts("1500m", "1Gi")}, True, id="pod & container: net increase"
        ),
        pytest.param(amounts("2", "2500Mi"), {0: amounts("500m", "1Gi")}, False, id="pod & container: net decrease"),
    ],
)
def test_resizes_that_increase_requests(level: Json | None, changes: dict[int, Json], expected: bool) -> None:
    """Checked by the order of pending resizes: one that does not increase comes before one with the highest priority.

    Rows with nil and with an empty map are the same here."""

    async def story() -> None:
        kubelet = AllocatingKubelet()
        before = [ONE, ONE, {}, {}]
        own = None if level is None else {"requests": PODS_OWN}
        after = [changes.get(n, requests) for n, requests in enumerate(before)]
        first, second = (
            pod("a", *(container(f"c{n}", asked) for n, asked in enumerate(requests)), resources=resources)
            for requests, resources in ((before, own), (after, None if level is None else {"requests": level}))
        )
        important = pod("b", container("c1", HALF), priority=1000)
        kubelet.pods.update(first)
        for one in (first, important):
            kubelet.state.set(one)
        kubelet.pods.update(second)
        kubelet.pods.update(pod("b", container("c1", ONE), priority=1000))
        kubelet.sources.all_ready = False
        await kubelet.manager.push_pending_resize("b")
        await kubelet.manager.push_pending_resize("a")
        assert kubelet.manager._pending == (["b", "a"] if expected else ["a", "b"])

    played(story)


# -- TestSortPendingResizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backwards", [False, True], ids=["in order", "in reverse order"])
def test_the_order_of_pending_resizes(backwards: bool) -> None:
    async def story() -> None:
        kubelet = AllocatingKubelet()
        more = amounts("1500m", "1500Mi")
        for n in range(7):
            kubelet.state.set(pod(str(n), container("c", ONE)))
        asked = [
            pod("0", container("c", ONE), resources={"requests": HALF}),
            pod("1", container("c", HALF)),
            pod("2", container("c", more), priority=100),
            pod("3", container("c", more), status={"qosClass": "Guaranteed"}),
            *(pod(str(n), container("c", more)) for n in (4, 5, 6)),
        ]
        for one in asked:
            kubelet.pods.update(one)
        kubelet.conditions.set_pending("4", "Deferred", "some-message", 1, 0)
        kubelet.conditions.set_pending("5", "Deferred", "some-message", 1, 5_000_000)
        for uid in sorted(map(str, range(7)), reverse=backwards):
            await kubelet.manager.push_pending_resize(uid)
        assert kubelet.manager._pending == [str(n) for n in range(7)]

    played(story)

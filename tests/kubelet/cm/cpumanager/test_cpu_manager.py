"""The CPU manager. The tables are adapted from TestCPUManagerAddWithInitContainers, TestReconcileState and
TestCPUManagerGenerate in pkg/kubelet/cm/cpumanager/cpu_manager_test.go."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.quantity import quantity
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.cm.active_pods import ActivePods
from kubesim.kubelet.cm.cpumanager.manager import CpuManager, new_policy
from kubesim.kubelet.cm.cpumanager.policy_static import new_static_policy
from kubesim.kubelet.cm.cpumanager.state import CpuState
from kubesim.kubelet.cm.machine import Core, MachineInfo, NumaNode
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.cm.topologymanager.hints import TopologyHint
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.runtime.allocation.cpuset import NO_CPUS, format_cpus, parse_cpus
from kubesim.runtime.protocol import Runtime
from kubesim.runtime.types import RuntimeResources
from tests.kubelet.cm.tables import Row, cpu_state, names, outcome, pod_of, rows, topology

TABLE = rows("cpumanager/cpu_manager")
INIT = [row for row in TABLE if row["test"] == "init"]
RECONCILE = [row for row in TABLE if row["test"] == "reconcile"]


class Runtimes:
    """The updates that the manager requests from the runtime."""

    def __init__(self, error: str = "") -> None:
        self.error = error
        self.updates: list[tuple[str, str]] = []

    async def update_container_resources(self, container_id: str, resources: RuntimeResources) -> None:
        self.updates.append((container_id, resources.cpuset_cpus))
        if self.error:
            raise RuntimeCallError(self.error)


def manager_for(
    row: Row, pods: list[Pod], runtime: Runtimes, status: PodStatus | None = None, gates: FeatureGates = DEFAULT_GATES
) -> CpuManager:
    machine = topology(row.get("topology", "topoSingleSocketHT"))
    policy = new_static_policy(machine, cpu_state(row), 0, NO_CPUS, lambda uid, name: TopologyHint(), gates=gates)
    active = ActivePods(lambda: pods, lambda: True)
    return CpuManager(policy, active, cast(Runtime, runtime), lambda uid: status, lambda pod, container, text: None)


@pytest.mark.parametrize("row", INIT, ids=names(INIT))
def test_cpus_of_init_containers(row: Row) -> None:
    pod = pod_of(row["pod"])
    manager = manager_for(row, [pod], Runtimes())
    state, total = manager.policy.state, NO_CPUS
    for container, expected in zip(all_containers(pod), row["expect"], strict=True):
        manager.allocate(pod, container)
        cpus = state.get(pod.metadata.uid, container.name) or NO_CPUS
        assert format_cpus(cpus) == expected
        total |= cpus
    assert state.default_cpus == parse_cpus(row["default"]) - total


@pytest.mark.parametrize("row", RECONCILE, ids=names(RECONCILE))
def test_reconcile(row: Row) -> None:
    runtime, pods = Runtimes(row["updateError"]), [pod_of(pod) for pod in row["pods"]]
    status = None if row["status"] is None else PodStatus.from_json(row["status"])
    manager = manager_for(row, pods, runtime, status)
    for uid, containers in row["last"].items():
        for name, cpus in containers.items():
            manager._written[uid, name] = parse_cpus(cpus)
    asyncio.run(manager.reconcile())
    state = manager.policy.state
    shown = {uid: {name: format_cpus(cpus) for name, cpus in each.items()} for uid, each in state.assignments.items()}
    assert shown == row["expectAssignments"]
    assert format_cpus(state.default_cpus) == row["expectDefault"]
    # It succeeded if the runtime was updated now or earlier.
    written = {cpus for _, cpus in runtime.updates if not row["updateError"]}
    had = {cpus for containers in row["last"].values() for cpus in containers.values()}
    assert bool(row["succeeded"]) == bool((written | had) & {c for each in shown.values() for c in each.values()})
    assert bool(row["updateError"]) == (bool(row["failed"]) and bool(runtime.updates))


def test_containers_in_the_shared_pool_are_updated_with_it() -> None:
    running = {"containerStatuses": [{"name": "main", "containerID": "containerd://1", "state": {"running": {}}}]}
    pod = pod_of({"uid": "shared", "containers": [{"name": "main"}]})
    runtime = Runtimes()
    manager = manager_for({"default": "0-7"}, [pod], runtime, PodStatus.from_json(running))
    assert asyncio.run(manager.reconcile())
    assert not asyncio.run(manager.reconcile())
    manager.policy.state.default_cpus = parse_cpus("0-3")
    asyncio.run(manager.reconcile())
    assert runtime.updates == [("1", "0-7"), ("1", "0-3")]


def test_nothing_is_stale_before_all_sources_reported() -> None:
    """removeStaleState"""
    assignments = {"gone": {"main": NO_CPUS}}
    assert list(ActivePods(list, lambda: False).stale(assignments)) == []
    assert list(ActivePods(list, lambda: True).stale(assignments)) == [("gone", "main")]


FOUR_CORES = MachineInfo(
    (
        NumaNode(0, (Core((0,)), Core((1,)))),
        NumaNode(1, (Core((2,), socket=1), Core((3,), socket=1))),
    ),
    num_cpus=4,
    num_sockets=2,
)


@pytest.mark.parametrize(
    ("reserved", "machine", "problem"),
    [
        ("3", FOUR_CORES, ""),
        ("2500m", FOUR_CORES, ""),
        (
            "0",
            FOUR_CORES,
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
        ),
        (None, FOUR_CORES, "[cpumanager] unable to determine reserved CPU resources for static policy"),
        (
            "5",
            FOUR_CORES,
            (
                "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
                "(size of  did not equal 5)"
            ),
        ),
        ("1", MachineInfo(), "could not detect number of cpus"),
    ],
)
def test_configurations_with_which_it_starts(reserved: str | None, machine: MachineInfo, problem: str) -> None:
    """TestCPUManagerGenerate"""
    reservation = {} if reserved is None else {"cpu": quantity(reserved)}
    settings = ResourceManagerSettings(machine=machine, reservation=reservation)
    made, found = outcome(
        lambda: new_policy(settings, CpuState(), lambda uid, container: TopologyHint(), DEFAULT_GATES)
    )
    assert found == problem
    assert (made is None) == bool(problem)


def test_exclusive_cpus() -> None:
    """container_manager_linux.go ContainerHasExclusiveCPUs; cpu_manager.go GetResourceIsolationLevel"""
    amounts = {"cpu": "2", "memory": "1G"}
    own = {"requests": amounts, "limits": amounts}
    pod = pod_of({"uid": "pod", "containers": [{"name": "own", "resources": own}, {"name": "shared"}]})
    first, second = pod.spec.containers
    for gates in (DEFAULT_GATES, FeatureGates({"PodLevelResourceManagers": True})):
        manager = manager_for(
            {"default": "0-7", "assignments": {"pod": {"own": "1,5"}}}, [pod], Runtimes(), None, gates
        )
        assert manager.has_exclusive_cpus(pod, first)
        assert not manager.has_exclusive_cpus(pod, second)
        assert manager.pod_has_exclusive_cpus(pod)

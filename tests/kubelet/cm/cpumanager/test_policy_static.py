"""The static policy. The tables are adapted from pkg/kubelet/cm/cpumanager/policy_static_test.go."""

from __future__ import annotations

import pytest

from kubesim.kubelet.cm.cpumanager.policy_static import SMT_ALIGNMENT, StaticPolicy, new_static_policy
from kubesim.kubelet.cm.cpumanager.requests import validate_pod_scope_resources
from kubesim.kubelet.cm.cpumanager.state import CpuState, restore
from kubesim.kubelet.cm.machine import MachineError
from kubesim.kubelet.cm.topologymanager.hints import TopologyHint
from kubesim.kubelet.cm.topologymanager.manager import all_containers
from kubesim.runtime.allocation.cpuset import NO_CPUS, format_cpus, parse_cpus
from tests.kubelet.cm.tables import Row, cpu_state, gates_of, names, outcome, pod_of, rows, topology

TABLE = rows("cpumanager/policy_static")


def of(test: str) -> list[Row]:
    return [row for row in TABLE if row["test"] == test]


def policy_for(row: Row, state: CpuState | None = None) -> StaticPolicy:
    hint = TopologyHint(parse_cpus(row["affinity"]), preferred=True) if row.get("affinity") else TopologyHint()
    return new_static_policy(
        topology(row["topology"]),
        cpu_state(row) if state is None else state,
        row.get("reservedCount", 0),
        parse_cpus(row.get("reserved", "")),
        lambda uid, container: hint,
        options=row.get("options"),
        gates=gates_of(row),
    )


@pytest.mark.parametrize("row", of("start"), ids=names(of("start")))
def test_start(row: Row) -> None:
    """TestStaticPolicyStart, TestStaticPolicyStartWithResvList"""
    if row.get("newError"):
        assert outcome(lambda: policy_for(row))[1] == row["newError"]
        return
    policy = policy_for(row)
    assert outcome(policy.start)[1] == row.get("error", "")
    if not row.get("error"):
        assert format_cpus(policy.state.default_cpus) == row["expect"]


@pytest.mark.parametrize("row", of("add"), ids=names(of("add")))
def test_add(row: Row) -> None:
    """TestStaticPolicyAdd, TestStaticPolicyAddWithResvList"""
    policy, pod = policy_for(row), pod_of(row["pod"])
    container = pod.spec.containers[0]
    assert outcome(lambda: policy.allocate(pod, container))[1] == row.get("error", "")
    cpus = policy.state.get(pod.metadata.uid, container.name)
    if row["allocated"]:
        assert cpus is not None
        assert format_cpus(cpus) == row["expect"]
        assert not cpus & policy.state.default_cpus
    else:
        assert cpus is None


@pytest.mark.parametrize("row", of("reuse"), ids=names(of("reuse")))
def test_cpus_of_init_containers_are_reused(row: Row) -> None:
    """TestStaticPolicyReuseCPUs, TestStaticPolicyDoNotReuseCPUs"""
    policy, pod = policy_for(row), pod_of(row["pod"])
    for container in all_containers(pod):
        policy.allocate(pod, container)
    assert format_cpus(policy.state.default_cpus) == row["afterAllocate"]
    if "afterRemove" in row:
        policy.remove_container(pod.metadata.uid, row["container"])
        assert format_cpus(policy.state.default_cpus) == row["afterRemove"]
        assert policy.state.get(pod.metadata.uid, row["container"]) is None


@pytest.mark.parametrize("row", of("remove"), ids=names(of("remove")))
def test_remove(row: Row) -> None:
    """TestStaticPolicyRemove"""
    policy = policy_for(row)
    policy.remove_container(row["uid"], row["container"])
    assert format_cpus(policy.state.default_cpus) == row["expect"]
    assert policy.state.get(row["uid"], row["container"]) is None


@pytest.mark.parametrize("row", of("aligned"), ids=names(of("aligned")))
def test_allocation_follows_the_hint(row: Row) -> None:
    """TestTopologyAwareAllocateCPUs, with a pod that requests as much"""
    policy = policy_for(row)
    policy.start()
    amount = {"cpu": row["count"], "memory": "1G"}
    resources = {"requests": amount, "limits": amount}
    pod = pod_of({"uid": "pod", "containers": [{"name": "main", "resources": resources}]})
    policy.allocate(pod, pod.spec.containers[0])
    assert format_cpus(policy.state.get("pod", "main") or NO_CPUS) == row["expect"]


@pytest.mark.parametrize("row", of("uncore"), ids=names(of("uncore")))
def test_uncore_alignment(row: Row) -> None:
    """TestStaticPolicyAddWithUncoreAlignment"""
    state = cpu_state(row)
    state.default_cpus -= parse_cpus(row["reserved"])
    policy, pod = policy_for(row, state), pod_of(row["pod"])
    for container in pod.spec.containers:
        policy.allocate(pod, container)
    uid = pod.metadata.uid
    if row.get("allocated"):
        assert format_cpus(state.get(uid, pod.spec.containers[0].name) or NO_CPUS) == row["expect"]
        return
    cpus = NO_CPUS.union(*state.assignments[uid].values())
    assert format_cpus(policy.topology.details.keep_only(cpus).ids("uncore")) == row["uncoreCaches"]


@pytest.mark.parametrize("row", of("pod"), ids=names(of("pod")))
def test_allocate_pod(row: Row) -> None:
    """TestStaticPolicyAllocatePod; upstream checks only that there is an error"""
    policy, pod = policy_for(row), pod_of(row["pod"])
    problem = outcome(lambda: policy.allocate_pod(pod))[1]
    assert bool(problem) == bool(row.get("error"))
    if not problem:
        state = policy.state
        shown = {
            uid: {name: format_cpus(cpus) for name, cpus in each.items()} for uid, each in state.assignments.items()
        }
        assert shown == row["expectAssignments"]
        assert format_cpus(state.default_cpus) == row["expectDefault"]


@pytest.mark.parametrize("row", of("pod scope"), ids=names(of("pod scope")))
def test_validate_pod_scope_resources(row: Row) -> None:
    """TestValidatePodScopeResources"""
    pod, gates = pod_of(row["pod"]), gates_of(row)
    assert bool(outcome(lambda: validate_pod_scope_resources(pod, gates))[1]) == row.get("expectError", False)


def test_an_alignment_error_has_its_own_reason() -> None:
    row = next(row for row in of("add") if row.get("error", "").startswith("SMT Alignment Error"))
    policy, pod = policy_for(row), pod_of(row["pod"])
    with pytest.raises(Exception, match="SMT Alignment Error") as caught:
        policy.allocate(pod, pod.spec.containers[0])
    assert getattr(caught.value, "type", "") == SMT_ALIGNMENT


def test_pod_level_cpus_are_released_with_the_last_container() -> None:
    row = next(row for row in of("pod") if not row.get("error") and row["expectAssignments"])
    policy, pod = policy_for(row), pod_of(row["pod"])
    before = policy.state.default_cpus
    policy.allocate_pod(pod)
    for container in all_containers(pod):
        assert policy.state.default_cpus < before
        policy.remove_container(pod.metadata.uid, container.name)
    assert policy.state.default_cpus == before


def test_a_state_of_another_policy_is_rejected() -> None:
    """state_checkpoint_test.go: Restore checkpoint from checkpoint with invalid policy name"""
    state = CpuState(policy="none")
    with pytest.raises(MachineError, match='configured policy "static" differs from state checkpoint policy "none"'):
        restore(state, "static")

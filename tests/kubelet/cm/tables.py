"""Tables of cases in `data` folders: one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from kubesim.api.pod import Pod
from kubesim.errors import KubesimError
from kubesim.features import FeatureGates
from kubesim.kubelet.cm.cpumanager.state import CpuState
from kubesim.kubelet.cm.cpumanager.topology import CpuInfo, CpuTopology, new_topology
from kubesim.kubelet.cm.topologymanager.hints import Hints, TopologyHint
from kubesim.runtime.allocation.cpuset import parse_cpus

Row = dict[str, Any]
HERE = Path(__file__).parent


@cache
def rows(name: str) -> list[Row]:
    """`cpumanager/cpu_assignment`."""
    folder, _, file = name.partition("/")
    lines = (HERE / folder / "data" / f"{file}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def names(table: list[Row]) -> list[str]:
    return [str(row["name"]) for row in table]


@cache
def topology(name: str) -> CpuTopology:
    """CPU, NUMA node, socket, core and uncore cache of each CPU; the counts are the table's own, even if they are
    wrong."""
    row = next(row for row in rows("cpumanager/topologies") if row["name"] == name)
    details = {cpu: CpuInfo(*place) for cpu, *place in row["details"]}
    return new_topology(
        details,
        cpus=row["cpus"],
        cores=row["cores"],
        sockets=row["sockets"],
        numa_nodes=row["numa"],
        uncore_caches=row["uncore"],
    )


def pod_of(row: Row) -> Pod:
    """`uid`, `initContainers`, `containers` and `resources` of a pod."""
    spec = {key: value for key, value in row.items() if key != "uid"}
    return Pod.from_json({"metadata": {"uid": row["uid"], "name": "pod", "namespace": "default"}, "spec": spec})


def cpu_state(row: Row) -> CpuState:
    assignments = {
        uid: {name: parse_cpus(cpus) for name, cpus in containers.items()}
        for uid, containers in row.get("assignments", {}).items()
    }
    return CpuState(default_cpus=parse_cpus(row.get("default", "")), assignments=assignments)


def gates_of(row: Row) -> FeatureGates:
    return FeatureGates({"CPUManagerPolicyAlphaOptions": True, **row.get("gates", {})})


def outcome(function: Callable[[], object]) -> tuple[object, str]:
    """The result, and the text of the error."""
    try:
        return function(), ""
    except KubesimError as error:
        return None, str(error)


def hint_of(given: tuple[str | None, bool]) -> TopologyHint:
    nodes, preferred = given
    return TopologyHint(None if nodes is None else parse_cpus(nodes), preferred)


def hints_of(provider: Row | None) -> Hints:
    return {name: None if hints is None else tuple(map(hint_of, hints)) for name, hints in (provider or {}).items()}

"""`/stats/summary`: the simulated usage of a node and its pods.

Mirrors: k8s.io/kubelet/pkg/apis/stats/v1alpha1 types.go
"""

from __future__ import annotations

from typing import Any

from kubesim.api.quantity import quantity
from kubesim.api.timestamps import format_time
from kubesim.runtime.simulated.containers.container_process import ProcessContext
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.up.metrics import least_usage

_NANO_CORES = 1_000_000  # in a thousandth of a CPU


def summary(node: SimulatedNode, now: int) -> dict[str, Any]:
    """The summary as JSON. A pod is in it once it has a running container."""
    moment = format_time(now)
    by_pod: dict[str, list[ProcessContext]] = {}
    for context in node.runtime.running():
        by_pod.setdefault(context.pod.metadata.uid, []).append(context)
    pods = [_of_pod(node, contexts, moment) for contexts in by_pod.values()]
    cpu = sum(pod["cpu"]["usageNanoCores"] for pod in pods)
    memory = sum(pod["memory"]["workingSetBytes"] for pod in pods)
    own = least_usage(node_itself=True)
    return {
        "node": {
            "nodeName": node.name,
            "startTime": moment,
            "cpu": _cpu(moment, cpu + own[0] * _NANO_CORES),
            "memory": _memory(moment, memory + own[1] * 1024),
        },
        "pods": pods,
    }


def _of_pod(node: SimulatedNode, contexts: list[ProcessContext], moment: str) -> dict[str, Any]:
    metadata = contexts[0].pod.metadata
    usage = node.machine.pod_usage(metadata.uid)
    used = {} if usage is None else {each.name: each.memory or 0 for each in usage.containers}
    containers = [_of_container(context, used.get(context.container.name, 0), moment) for context in contexts]
    return {
        "podRef": {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid},
        "startTime": moment,
        "containers": containers,
        "cpu": _cpu(moment, sum(each["cpu"]["usageNanoCores"] for each in containers)),
        "memory": _memory(moment, sum(each["memory"]["workingSetBytes"] for each in containers)),
    }


def _of_container(context: ProcessContext, memory: int, moment: str) -> dict[str, Any]:
    cpu_m, memory_ki = least_usage()
    requested = quantity(context.container.resources.requests.get("cpu", "0")).milli_value()
    return {
        "name": context.container.name,
        "startTime": moment,
        "cpu": _cpu(moment, max(cpu_m, requested) * _NANO_CORES),
        "memory": _memory(moment, max(memory_ki * 1024, memory)),
    }


def _cpu(moment: str, nano_cores: int) -> dict[str, Any]:
    return {"time": moment, "usageNanoCores": nano_cores}


def _memory(moment: str, working_set: int) -> dict[str, Any]:
    return {"time": moment, "workingSetBytes": working_set}

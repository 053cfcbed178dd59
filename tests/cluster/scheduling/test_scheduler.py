"""Pods that name no node are bound to the best one, or learn why there is none; changes bring them back."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.trace.records import ApiWrite
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.cluster.scheduled import add_nodes, node, pod, scheduled_cluster


def node_of(cluster: ControlledCluster, name: str) -> str:
    found = cluster.get("Pod", name)
    assert isinstance(found, Pod)
    return found.spec.node_name


def condition(cluster: ControlledCluster, name: str) -> tuple[str, str, str]:
    (found,) = [c for c in cluster.get("Pod", name).status.conditions if c.type == "PodScheduled"]
    return found.status, found.reason, found.message


def messages(cluster: ControlledCluster, reason: str) -> list[str]:
    return [event.message for event in cluster.events(reason)]

"""The scenario of an attached agent: one node like the real one, without pods of its own."""

from __future__ import annotations

import json
from typing import Any

from kubesim.api.node import Node
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.load.overlay import make_overlay

_CAPACITY = ("cpu", "memory", "ephemeral-storage", "pods")


def node_scenario(node_name: str, node: Node | None, config: str | None = None) -> Scenario:
    """A scenario with one node that has the labels and the capacity of the real one; every image is present. `config`
    is the file of its KubeletConfiguration."""
    item: dict[str, Any] = {"name": node_name}
    if node is not None:
        item["labels"] = dict(node.metadata.labels)
        item["capacity"] = {name: node.status.capacity[name] for name in _CAPACITY if name in node.status.capacity}
    item["securityProfiles"] = {"appArmor": ["*"], "seccomp": ["*"]}
    spec = {"nodes": [item], "images": [{"name": "*", "present": True}]}
    value = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "agent"}, "spec": spec}
    return parse_scenario(json.dumps(value), "the scenario of the agent", overlay=make_overlay(config))

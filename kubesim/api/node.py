"""Node: capacity, addresses, taints and conditions, as far as admission and the node status need them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kubesim.api.meta import ApiObject
from kubesim.api.model import Model
from kubesim.api.pod import ResourceList


class Taint(Model):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(Model):
    pod_cidr: str = ""
    pod_cidrs: tuple[str, ...] = ()
    provider_id: str = ""
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(Model):
    type: str = ""
    status: str = ""
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class NodeAddress(Model):
    type: str = ""
    address: str = ""


class NodeFeatures(Model):
    supplemental_groups_policy: bool | None = None


class NodeStatus(Model):
    capacity: ResourceList = Field(default_factory=dict)
    allocatable: ResourceList = Field(default_factory=dict)
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: dict[str, Any] = Field(default_factory=dict)
    features: NodeFeatures | None = None


class Node(ApiObject):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

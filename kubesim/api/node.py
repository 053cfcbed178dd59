"""Node: capacity, addresses, taints and conditions, as far as admission and the node status need them."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.model import Model, shared
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
    capacity: ResourceList = shared(default={})
    allocatable: ResourceList = shared(default={})
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: dict[str, Any] = shared(default={})
    features: NodeFeatures | None = None


class Node(ApiObject):
    spec: NodeSpec = shared(default=NodeSpec())
    status: NodeStatus = shared(default=NodeStatus())

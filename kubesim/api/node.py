"""The API type Node: capacity, addresses, taints and conditions, as far as admission and the node status need them."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.model import Model, go
from kubesim.api.pod import ResourceList


class Taint(Model):
    key: str = go("string", always=True)
    value: str = go("string")
    effect: str = go("TaintEffect", always=True)
    time_added: str | None = go("*Time")


class NodeSpec(Model):
    pod_cidr: str = go("string")
    pod_cidrs: tuple[str, ...] = go("[]string", merge="")
    provider_id: str = go("string")
    unschedulable: bool = go("bool")
    taints: tuple[Taint, ...] = go("[]Taint")
    config_source: dict[str, Any] | None = go("*NodeConfigSource")
    external_id: str = go("string")


class NodeCondition(Model):
    type: str = go("NodeConditionType", always=True)
    status: str = go("ConditionStatus", always=True)
    last_heartbeat_time: str | None = go("Time")
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class NodeAddress(Model):
    type: str = go("NodeAddressType", always=True)
    address: str = go("string", always=True)


class NodeFeatures(Model):
    supplemental_groups_policy: bool | None = go("*bool")


class NodeStatus(Model):
    capacity: ResourceList = go("ResourceList")
    allocatable: ResourceList = go("ResourceList")
    phase: str = go("NodePhase")
    conditions: tuple[NodeCondition, ...] = go("[]NodeCondition", merge="type")
    addresses: tuple[NodeAddress, ...] = go("[]NodeAddress", merge="type")
    daemon_endpoints: dict[str, Any] = go("NodeDaemonEndpoints")
    node_info: dict[str, Any] = go("NodeSystemInfo")
    images: tuple[dict[str, Any], ...] = go("[]ContainerImage")
    volumes_in_use: tuple[str, ...] = go("[]UniqueVolumeName")
    volumes_attached: tuple[dict[str, Any], ...] = go("[]AttachedVolume")
    config: dict[str, Any] | None = go("*NodeConfigStatus")
    runtime_handlers: tuple[dict[str, Any], ...] = go("[]NodeRuntimeHandler")
    features: NodeFeatures | None = go("*NodeFeatures")
    declared_features: tuple[str, ...] = go("[]string")


class Node(ApiObject):
    spec: NodeSpec = go("NodeSpec")
    status: NodeStatus = go("NodeStatus")

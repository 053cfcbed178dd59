"""The workload kinds of apps/v1, and ReplicationController.

Mirrors: k8s.io/api/apps/v1/types.go; core/v1/types.go ReplicationController
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.model import Model, go
from kubesim.api.workloads.templates import PodTemplateSpec


class RollingUpdateDeployment(Model):
    max_unavailable: int | str | None = go("*IntOrString")
    max_surge: int | str | None = go("*IntOrString")


class DeploymentStrategy(Model):
    type: str = go("DeploymentStrategyType")
    rolling_update: RollingUpdateDeployment | None = go("*RollingUpdateDeployment")


class DeploymentSpec(Model):
    replicas: int | None = go("*int32")
    selector: dict[str, Any] | None = go("*LabelSelector", always=True)
    template: PodTemplateSpec = go("PodTemplateSpec", always=True)
    strategy: DeploymentStrategy = go("DeploymentStrategy")
    min_ready_seconds: int = go("int32")
    revision_history_limit: int | None = go("*int32")
    paused: bool = go("bool")
    progress_deadline_seconds: int | None = go("*int32")


class DeploymentCondition(Model):
    type: str = go("DeploymentConditionType", always=True)
    status: str = go("ConditionStatus", always=True)
    last_update_time: str | None = go("Time")
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class DeploymentStatus(Model):
    observed_generation: int = go("int64")
    replicas: int = go("int32")
    updated_replicas: int = go("int32")
    ready_replicas: int = go("int32")
    available_replicas: int = go("int32")
    unavailable_replicas: int = go("int32")
    terminating_replicas: int | None = go("*int32")
    conditions: tuple[DeploymentCondition, ...] = go("[]DeploymentCondition", merge="type")
    collision_count: int | None = go("*int32")


class Deployment(ApiObject):
    spec: DeploymentSpec = go("DeploymentSpec")
    status: DeploymentStatus = go("DeploymentStatus")


class ReplicaSetSpec(Model):
    replicas: int | None = go("*int32")
    min_ready_seconds: int = go("int32")
    selector: dict[str, Any] | None = go("*LabelSelector", always=True)
    template: PodTemplateSpec = go("PodTemplateSpec")


class ReplicaSetCondition(Model):
    type: str = go("ReplicaSetConditionType", always=True)
    status: str = go("ConditionStatus", always=True)
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class ReplicaSetStatus(Model):
    replicas: int = go("int32", always=True)
    fully_labeled_replicas: int = go("int32")
    ready_replicas: int = go("int32")
    available_replicas: int = go("int32")
    terminating_replicas: int | None = go("*int32")
    observed_generation: int = go("int64")
    conditions: tuple[ReplicaSetCondition, ...] = go("[]ReplicaSetCondition", merge="type")


class ReplicaSet(ApiObject):
    spec: ReplicaSetSpec = go("ReplicaSetSpec")
    status: ReplicaSetStatus = go("ReplicaSetStatus")


class ReplicationControllerSpec(Model):
    replicas: int | None = go("*int32")
    min_ready_seconds: int = go("int32")
    selector: dict[str, str] = go("map[string]string")
    template: PodTemplateSpec | None = go("*PodTemplateSpec")


class ReplicationControllerCondition(Model):
    type: str = go("ReplicationControllerConditionType", always=True)
    status: str = go("ConditionStatus", always=True)
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class ReplicationControllerStatus(Model):
    replicas: int = go("int32", always=True)
    fully_labeled_replicas: int = go("int32")
    ready_replicas: int = go("int32")
    available_replicas: int = go("int32")
    observed_generation: int = go("int64")
    conditions: tuple[ReplicationControllerCondition, ...] = go("[]ReplicationControllerCondition", merge="type")


class ReplicationController(ApiObject):
    spec: ReplicationControllerSpec = go("ReplicationControllerSpec")
    status: ReplicationControllerStatus = go("ReplicationControllerStatus")


class RollingUpdateStatefulSetStrategy(Model):
    partition: int | None = go("*int32")
    max_unavailable: int | str | None = go("*IntOrString")


class StatefulSetUpdateStrategy(Model):
    type: str = go("StatefulSetUpdateStrategyType")
    rolling_update: RollingUpdateStatefulSetStrategy | None = go("*RollingUpdateStatefulSetStrategy")


class StatefulSetPersistentVolumeClaimRetentionPolicy(Model):
    when_deleted: str = go("PersistentVolumeClaimRetentionPolicyType")
    when_scaled: str = go("PersistentVolumeClaimRetentionPolicyType")


class StatefulSetOrdinals(Model):
    start: int = go("int32", always=True)


class StatefulSetSpec(Model):
    replicas: int | None = go("*int32")
    selector: dict[str, Any] | None = go("*LabelSelector", always=True)
    template: PodTemplateSpec = go("PodTemplateSpec", always=True)
    volume_claim_templates: tuple[dict[str, Any], ...] = go("[]PersistentVolumeClaim")
    service_name: str = go("string", always=True)
    pod_management_policy: str = go("PodManagementPolicyType")
    update_strategy: StatefulSetUpdateStrategy = go("StatefulSetUpdateStrategy")
    revision_history_limit: int | None = go("*int32")
    min_ready_seconds: int = go("int32")
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = go(
        "*StatefulSetPersistentVolumeClaimRetentionPolicy"
    )
    ordinals: StatefulSetOrdinals | None = go("*StatefulSetOrdinals")


class StatefulSetCondition(Model):
    type: str = go("StatefulSetConditionType", always=True)
    status: str = go("ConditionStatus", always=True)
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class StatefulSetStatus(Model):
    observed_generation: int = go("int64")
    replicas: int = go("int32", always=True)
    ready_replicas: int = go("int32")
    current_replicas: int = go("int32")
    updated_replicas: int = go("int32")
    current_revision: str = go("string")
    update_revision: str = go("string")
    collision_count: int | None = go("*int32")
    conditions: tuple[StatefulSetCondition, ...] = go("[]StatefulSetCondition", merge="type")
    available_replicas: int = go("int32", always=True)


class StatefulSet(ApiObject):
    spec: StatefulSetSpec = go("StatefulSetSpec")
    status: StatefulSetStatus = go("StatefulSetStatus")


class RollingUpdateDaemonSet(Model):
    max_unavailable: int | str | None = go("*IntOrString")
    max_surge: int | str | None = go("*IntOrString")


class DaemonSetUpdateStrategy(Model):
    type: str = go("DaemonSetUpdateStrategyType")
    rolling_update: RollingUpdateDaemonSet | None = go("*RollingUpdateDaemonSet")


class DaemonSetSpec(Model):
    selector: dict[str, Any] | None = go("*LabelSelector", always=True)
    template: PodTemplateSpec = go("PodTemplateSpec", always=True)
    update_strategy: DaemonSetUpdateStrategy = go("DaemonSetUpdateStrategy")
    min_ready_seconds: int = go("int32")
    revision_history_limit: int | None = go("*int32")


class DaemonSetCondition(Model):
    type: str = go("DaemonSetConditionType", always=True)
    status: str = go("ConditionStatus", always=True)
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class DaemonSetStatus(Model):
    current_number_scheduled: int = go("int32", always=True)
    number_misscheduled: int = go("int32", always=True)
    desired_number_scheduled: int = go("int32", always=True)
    number_ready: int = go("int32", always=True)
    observed_generation: int = go("int64")
    updated_number_scheduled: int = go("int32")
    number_available: int = go("int32")
    number_unavailable: int = go("int32")
    collision_count: int | None = go("*int32")
    conditions: tuple[DaemonSetCondition, ...] = go("[]DaemonSetCondition", merge="type")


class DaemonSet(ApiObject):
    spec: DaemonSetSpec = go("DaemonSetSpec")
    status: DaemonSetStatus = go("DaemonSetStatus")


class ControllerRevision(ApiObject):
    data: dict[str, Any] = go("RawExtension")
    revision: int = go("int64", always=True)

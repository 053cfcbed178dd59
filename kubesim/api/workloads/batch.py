"""Job and CronJob.

Mirrors: k8s.io/api/batch/v1/types.go
"""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ApiObject, ObjectMeta, ObjectReference
from kubesim.api.model import Model, go
from kubesim.api.workloads.templates import PodTemplateSpec


class PodFailurePolicyOnExitCodesRequirement(Model):
    container_name: str | None = go("*string")
    operator: str = go("PodFailurePolicyOnExitCodesOperator", always=True)
    values: tuple[int, ...] = go("[]int32", always=True)


class PodFailurePolicyOnPodConditionsPattern(Model):
    type: str = go("PodConditionType", always=True)
    status: str = go("ConditionStatus", always=True)


class PodFailurePolicyRule(Model):
    action: str = go("PodFailurePolicyAction", always=True)
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = go("*PodFailurePolicyOnExitCodesRequirement")
    on_pod_conditions: tuple[PodFailurePolicyOnPodConditionsPattern, ...] = go(
        "[]PodFailurePolicyOnPodConditionsPattern"
    )


class PodFailurePolicy(Model):
    rules: tuple[PodFailurePolicyRule, ...] = go("[]PodFailurePolicyRule", always=True)


class SuccessPolicyRule(Model):
    succeeded_indexes: str | None = go("*string")
    succeeded_count: int | None = go("*int32")


class SuccessPolicy(Model):
    rules: tuple[SuccessPolicyRule, ...] = go("[]SuccessPolicyRule", always=True)


class JobSpec(Model):
    parallelism: int | None = go("*int32")
    completions: int | None = go("*int32")
    active_deadline_seconds: int | None = go("*int64")
    pod_failure_policy: PodFailurePolicy | None = go("*PodFailurePolicy")
    success_policy: SuccessPolicy | None = go("*SuccessPolicy")
    backoff_limit: int | None = go("*int32")
    backoff_limit_per_index: int | None = go("*int32")
    max_failed_indexes: int | None = go("*int32")
    selector: dict[str, Any] | None = go("*LabelSelector")
    manual_selector: bool | None = go("*bool")
    template: PodTemplateSpec = go("PodTemplateSpec", always=True)
    ttl_seconds_after_finished: int | None = go("*int32")
    completion_mode: str | None = go("*CompletionMode")
    suspend: bool | None = go("*bool")
    pod_replacement_policy: str | None = go("*PodReplacementPolicy")
    managed_by: str | None = go("*string")


class JobCondition(Model):
    type: str = go("JobConditionType", always=True)
    status: str = go("ConditionStatus", always=True)
    last_probe_time: str | None = go("Time")
    last_transition_time: str | None = go("Time")
    reason: str = go("string")
    message: str = go("string")


class UncountedTerminatedPods(Model):
    succeeded: tuple[str, ...] = go("[]UID")
    failed: tuple[str, ...] = go("[]UID")


class JobStatus(Model):
    conditions: tuple[JobCondition, ...] = go("[]JobCondition", merge="type")
    start_time: str | None = go("*Time")
    completion_time: str | None = go("*Time")
    active: int = go("int32")
    succeeded: int = go("int32")
    failed: int = go("int32")
    terminating: int | None = go("*int32")
    completed_indexes: str = go("string")
    failed_indexes: str | None = go("*string")
    uncounted_terminated_pods: UncountedTerminatedPods | None = go("*UncountedTerminatedPods")
    ready: int | None = go("*int32")


class Job(ApiObject):
    spec: JobSpec = go("JobSpec")
    status: JobStatus = go("JobStatus")


class JobTemplateSpec(Model):
    metadata: ObjectMeta = go("ObjectMeta")
    spec: JobSpec = go("JobSpec")


class CronJobSpec(Model):
    schedule: str = go("string", always=True)
    time_zone: str | None = go("*string")
    starting_deadline_seconds: int | None = go("*int64")
    concurrency_policy: str = go("ConcurrencyPolicy")
    suspend: bool | None = go("*bool")
    job_template: JobTemplateSpec = go("JobTemplateSpec", always=True)
    successful_jobs_history_limit: int | None = go("*int32")
    failed_jobs_history_limit: int | None = go("*int32")


class CronJobStatus(Model):
    active: tuple[ObjectReference, ...] = go("[]ObjectReference")
    last_schedule_time: str | None = go("*Time")
    last_successful_time: str | None = go("*Time")


class CronJob(ApiObject):
    spec: CronJobSpec = go("CronJobSpec")
    status: CronJobStatus = go("CronJobStatus")

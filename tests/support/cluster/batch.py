"""Jobs and pods for tests of the Job controller."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import (
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
)
from kubesim.api.timestamps import format_time, parse_time
from kubesim.api.workloads.batch import Job, JobSpec, JobStatus, PodFailurePolicy
from kubesim.api.workloads.templates import PodTemplateSpec
from kubesim.cluster.controllers.job.outcome.job_pods import (
    COMPLETION_INDEX,
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    TRACKING_FINALIZER,
)

LONG_AGO = "2000-01-01T00:00:01Z"  # long enough for any back-off
NOW = parse_time("2026-01-01T00:00:00Z")


def make_job(
    parallelism: int | None = 1,
    completions: int | None = 1,
    backoff_limit: int = 6,
    *,
    indexed: bool = False,
    status: JobStatus | None = None,
    deleting: bool = False,
    **spec: Any,
) -> Job:
    return Job(
        kind="Job",
        api_version="batch/v1",
        metadata=ObjectMeta(
            name="foobar", namespace="default", uid="job", deletion_timestamp=format_time(NOW) if deleting else None
        ),
        spec=JobSpec(
            parallelism=parallelism,
            completions=completions,
            backoff_limit=backoff_limit,
            completion_mode="Indexed" if indexed else "NonIndexed",
            template=PodTemplateSpec(spec=PodSpec(restart_policy=spec.pop("restart_policy", "Never"))),
            **spec,
        ),
        status=status or JobStatus(),
    )


def make_pod(
    phase: str,
    name: str = "",
    *,
    index: str | int | None = None,
    failures: str | int | None = None,
    ignored: int | None = None,
    tracked: bool = True,
    deleting: bool = False,
    deleted_at: int | None = None,
    ready: bool = False,
    exit_code: int = 0,
    finished_at: str | None = LONG_AGO,
    conditions: tuple[PodCondition, ...] = (),
    restarts: int = 0,
) -> Pod:
    """A pod of a Job; its container has terminated if the pod has."""
    annotations = {COMPLETION_INDEX: index, INDEX_FAILURE_COUNT: failures, INDEX_IGNORED_FAILURE_COUNT: ignored}
    deleted = format_time(NOW if deleted_at is None else deleted_at) if deleting or deleted_at is not None else None
    terminated = ContainerStateTerminated(exit_code=exit_code, finished_at=finished_at)
    state = ContainerState(terminated=terminated) if phase in ("Succeeded", "Failed") else ContainerState()
    if ready:
        conditions = (*conditions, PodCondition(type="Ready", status="True"))
    return Pod(
        kind="Pod",
        api_version="v1",
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=name,
            annotations={key: str(value) for key, value in annotations.items() if value is not None},
            finalizers=(TRACKING_FINALIZER,) if tracked else (),
            creation_timestamp=LONG_AGO,
            deletion_timestamp=deleted,
        ),
        status=PodStatus(
            phase=phase,
            conditions=conditions,
            container_statuses=(ContainerStatus(name="main", state=state, restart_count=restarts),),
        ),
    )


def failure_policy(*rules: dict[str, Any]) -> PodFailurePolicy:
    """A podFailurePolicy from rules in manifest form."""
    return PodFailurePolicy.from_json({"rules": list(rules)})

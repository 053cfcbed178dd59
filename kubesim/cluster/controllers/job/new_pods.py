"""The pods that a Job creates from its template, with the completion index of an Indexed Job.

Mirrors: pkg/controller/job/job_controller.go manageJob; indexed_job_utils.go addCompletionIndexEnvVariables,
podGenerateNameWithIndex, getNewIndexFailureCounts
"""

from __future__ import annotations

from kubesim.api.pod import Container, EnvVar, Pod
from kubesim.api.workloads.batch import Job
from kubesim.cluster.controllers.job.outcome.job_pods import (
    COMPLETION_INDEX,
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    TRACKING_FINALIZER,
    index_failure_count,
    index_ignored_failure_count,
)
from kubesim.cluster.controllers.job.outcome.policies import match_pod_failure_policy
from kubesim.cluster.controllers.pods import pod_from_template

_PREFIX_MAX = 58  # maximum name length minus the suffix
_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


def new_pod(job: Job, index: int | None, replaced: Pod | None = None) -> Pod:
    """The new pod. `replaced` is the failed pod whose failure count it inherits."""
    pod = pod_from_template(job.spec.template, job)
    finalizers = pod.metadata.finalizers
    if TRACKING_FINALIZER not in finalizers:
        finalizers = (*finalizers, TRACKING_FINALIZER)
    pod = pod.changed(metadata=pod.metadata.changed(finalizers=finalizers))
    return pod if index is None else _with_index(pod, job, index, replaced)


def _with_index(pod: Pod, job: Job, index: int, replaced: Pod | None) -> Pod:
    metadata, spec = pod.metadata, pod.spec
    annotations = {**metadata.annotations, COMPLETION_INDEX: str(index)}
    if job.spec.backoff_limit_per_index is not None:
        annotations |= _failure_counts(job, replaced)
    metadata = metadata.changed(
        generate_name=_generate_name(job.metadata.name, index),
        labels={**metadata.labels, COMPLETION_INDEX: str(index)},
        annotations=annotations,
    )
    spec = spec.changed(
        hostname=f"{job.metadata.name}-{index}",
        init_containers=tuple(map(_with_index_variable, spec.init_containers)),
        containers=tuple(map(_with_index_variable, spec.containers)),
    )
    return pod.changed(metadata=metadata, spec=spec)


def _generate_name(name: str, index: int) -> str:
    """A generateName that keeps the index when truncated."""
    suffix = f"-{index}-"
    return name[: _PREFIX_MAX - len(suffix)] + suffix


def _with_index_variable(container: Container) -> Container:
    if any(variable.name == _INDEX_VARIABLE for variable in container.env):
        return container
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return container.changed(env=(*container.env, EnvVar(name=_INDEX_VARIABLE, value_from=source)))


def _failure_counts(job: Job, replaced: Pod | None) -> dict[str, str]:
    failures = ignored = 0
    if replaced is not None:
        counts = match_pod_failure_policy(job.spec.pod_failure_policy, replaced).counts
        failures = index_failure_count(replaced) + counts
        ignored = index_ignored_failure_count(replaced) + (not counts)
    annotations = {INDEX_FAILURE_COUNT: str(failures)}
    return annotations | ({INDEX_IGNORED_FAILURE_COUNT: str(ignored)} if ignored else {})

"""The counts in a StatefulSet's status, and the completion of a rolling update.

Mirrors: pkg/controller/statefulset/stateful_set_control.go computeReplicaStatus; stateful_set_utils.go
completeRollingUpdate, isRunningAndReady, isUnavailable
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.pod import Pod
from kubesim.api.pods.phases import RUNNING
from kubesim.api.workloads.apps import StatefulSet, StatefulSetStatus
from kubesim.cluster.controllers.pods import is_pod_available, is_pod_ready
from kubesim.cluster.controllers.statefulset.identity import revision_of


def is_created(pod: Pod) -> bool:
    """Whether the pod exists at the API server: only then it has a phase."""
    return pod.status.phase != ""


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def is_running_and_ready(pod: Pod) -> bool:
    return pod.status.phase == RUNNING and is_pod_ready(pod)


def is_unavailable(pod: Pod, min_ready_seconds: int, now: int) -> bool:
    return not is_pod_available(pod, min_ready_seconds, now) or is_terminating(pod)


def with_counts(status: StatefulSetStatus, pods: Iterable[Pod], min_ready_seconds: int, now: int) -> StatefulSetStatus:
    """The status with the counts of these pods. It names the revisions to compare them with."""
    created = [pod for pod in pods if is_created(pod)]
    ready = [pod for pod in created if is_running_and_ready(pod)]
    revisions = [revision_of(pod) for pod in created if not is_terminating(pod)]
    return status.changed(
        replicas=len(created),
        ready_replicas=len(ready),
        available_replicas=sum(is_pod_available(pod, min_ready_seconds, now) for pod in ready),
        current_replicas=revisions.count(status.current_revision),
        updated_replicas=revisions.count(status.update_revision),
    )


def complete_rolling_update(set_: StatefulSet, status: StatefulSetStatus) -> StatefulSetStatus:
    """Make the update revision the current one once all replicas are updated and ready."""
    counts = {status.updated_replicas, status.ready_replicas, status.replicas}
    if set_.spec.update_strategy.type != "RollingUpdate" or counts != {set_.spec.replicas}:
        return status
    return status.changed(current_replicas=status.updated_replicas, current_revision=status.update_revision)

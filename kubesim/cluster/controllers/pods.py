"""Pods as controllers see them: made from a template, and available after they have been ready for some time.

Mirrors: pkg/controller/controller_utils.go GetPodFromTemplate, FindMinNextPodAvailabilityCheck; pkg/api/v1/pod/util.go
IsPodReady, IsPodAvailable
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.pod import Pod
from kubesim.api.pods.pod_conditions import READY, TRUE, find_condition
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.workloads.templates import PodTemplateSpec
from kubesim.cluster.controllers.owners import controller_reference
from kubesim.errors import ApiError


def pod_from_template(template: PodTemplateSpec, owner: ApiObject) -> Pod:
    """A pod that the owner controls; it has no name yet, but a prefix for one."""
    meta = template.metadata
    return Pod(
        api_version="v1",
        kind="Pod",
        metadata=ObjectMeta(
            generate_name=f"{owner.metadata.name}-",
            namespace=owner.metadata.namespace,
            labels=meta.labels,
            annotations=meta.annotations,
            finalizers=meta.finalizers,
            owner_references=(controller_reference(owner),),
        ),
        spec=template.spec,
    )


def is_pod_ready(pod: Pod) -> bool:
    condition = find_condition(pod.status.conditions, READY)
    return condition is not None and condition.status == TRUE


def is_pod_available(pod: Pod, min_ready_seconds: int, now: int) -> bool:
    """Ready, and for long enough. The time counts from the whole second in which the pod became ready."""
    moment = _available_at(pod, min_ready_seconds)
    return is_pod_ready(pod) and (min_ready_seconds == 0 or (moment is not None and moment <= now))


def next_availability_check(pods: Iterable[Pod], min_ready_seconds: int, now: int) -> int | None:
    """How long until the next of these pods becomes available; None if none is about to."""
    moments = [_available_at(pod, min_ready_seconds) for pod in pods if is_pod_ready(pod)]
    return min((moment - now for moment in moments if moment is not None and moment > now), default=None)


def _available_at(pod: Pod, min_ready_seconds: int) -> int | None:
    condition = find_condition(pod.status.conditions, READY)
    if condition is None or condition.last_transition_time is None:
        return None
    return parse_time(condition.last_transition_time) + min_ready_seconds * SECOND


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether a creation was refused because the namespace is being deleted, so that a new try makes no sense."""
    causes = (error.details or {}).get("causes")
    return isinstance(causes, list) and any(cause.get("reason") == "NamespaceTerminating" for cause in causes)

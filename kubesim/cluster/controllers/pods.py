"""Helpers about pods for controllers: active, available, created from a template.

Mirrors: pkg/controller/controller_utils.go IsPodActive, IsPodTerminating, GetPodFromTemplate; pkg/api/v1/pod/util.go
IsPodReady, IsPodAvailable; pkg/controller/controller_utils.go FindMinNextPodAvailabilityCheck
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import READY, TRUE, find_condition
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.api.validation import formats
from kubesim.api.workloads.templates import PodTemplateSpec
from kubesim.cluster.controllers.owners import controller_reference


def is_pod_unfinished(pod: ApiObject) -> bool:
    assert isinstance(pod, Pod)
    return pod.status.phase not in TERMINAL_PHASES


def is_pod_active(pod: ApiObject) -> bool:
    """Whether the pod is neither finished nor being deleted."""
    assert isinstance(pod, Pod)
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in TERMINAL_PHASES


def is_pod_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None and pod.status.phase not in TERMINAL_PHASES


def is_pod_ready(pod: Pod) -> bool:
    return ready_since(pod) is not None


def ready_since(pod: Pod) -> int | None:
    """When the pod became ready (0: unknown); None while it is not ready."""
    condition = find_condition(pod.status.conditions, READY)
    if condition is None or condition.status != TRUE:
        return None
    return parse_time(condition.last_transition_time) if condition.last_transition_time else 0


def is_pod_available(pod: Pod, min_ready_seconds: int, now: int) -> bool:
    """Whether the pod has been ready for that many seconds."""
    since = ready_since(pod)
    if since is None:
        return False
    return min_ready_seconds == 0 or (since > 0 and since + min_ready_seconds * SECOND <= now)


def next_availability_check(pods: Iterable[Pod], min_ready_seconds: int, now: int) -> int | None:
    """Microseconds until the next ready pod becomes available; None if there is none."""
    moments = [since + min_ready_seconds * SECOND for pod in pods if (since := ready_since(pod))]
    return min((moment - now for moment in moments if moment > now), default=None)


def pod_from_template(template: PodTemplateSpec, owner: ApiObject) -> Pod:
    """A pod from the template, with a generateName derived from the owner."""
    metadata = template.metadata
    return Pod(
        kind="Pod",
        api_version="v1",
        metadata=ObjectMeta(
            generate_name=_name_prefix(owner.metadata.name),
            namespace=owner.metadata.namespace,
            labels=metadata.labels,
            annotations=metadata.annotations,
            finalizers=metadata.finalizers,
            owner_references=(controller_reference(owner),),
        ),
        spec=template.spec,
    )


def _name_prefix(name: str) -> str:
    """The owner's name with a dash, unless that is too long."""
    prefix = f"{name}-"
    return name if formats.dns1123_subdomain(formats.name_prefix(prefix)) else prefix

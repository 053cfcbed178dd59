"""Image pull secrets of a pod. A missing secret is reported and skipped.

Mirrors: pkg/kubelet/kubelet_pods.go getPullSecretsForPod
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.kubelet.containers.environment import Find
from kubesim.runtime.helper import EventRecorder


def pull_secrets_for_pod(pod: Pod, find: Find) -> tuple[tuple[ApiObject, ...], list[str]]:
    """The existing secrets, and the names of missing ones."""
    if not pod.spec.image_pull_secrets:
        return (), []
    found = {name: find("Secret", pod.metadata.namespace, name) for name in _names(pod)}
    missing = [name for name, secret in found.items() if secret is None]
    return tuple(secret for secret in found.values() if secret is not None), missing


def report_missing_pull_secrets(pod: Pod, missing: Sequence[str], events: EventRecorder) -> None:
    problem = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
    text = f"{problem}; attempting to pull the image may not succeed."
    events.event(pod, "Warning", "FailedToRetrieveImagePullSecret", text)


def _names(pod: Pod) -> list[str]:
    return [reference.name for reference in pod.spec.image_pull_secrets if reference.name]

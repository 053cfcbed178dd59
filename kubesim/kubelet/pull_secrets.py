"""The secrets with which a pod's images are pulled; one that is missing is told at each sync, and done without.

Mirrors: pkg/kubelet/kubelet_pods.go getPullSecretsForPod
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.kubelet.environment import Find
from kubesim.runtime.helper import EventRecorder


def missing_pull_secrets(pod: Pod, find: Find) -> list[str]:
    if not pod.spec.image_pull_secrets:
        return []
    return [name for name in _names(pod) if find("Secret", pod.metadata.namespace, name) is None]


def pull_secrets_for_pod(pod: Pod, find: Find, events: EventRecorder) -> tuple[ApiObject, ...]:
    if not pod.spec.image_pull_secrets:
        return ()
    missing = missing_pull_secrets(pod, find)
    if missing:
        problem = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
        text = f"{problem}; attempting to pull the image may not succeed."
        events.event(pod, "Warning", "FailedToRetrieveImagePullSecret", text)
    found = (find("Secret", pod.metadata.namespace, name) for name in _names(pod))
    return tuple(secret for secret in found if secret is not None)


def _names(pod: Pod) -> list[str]:
    return [reference.name for reference in pod.spec.image_pull_secrets if reference.name]

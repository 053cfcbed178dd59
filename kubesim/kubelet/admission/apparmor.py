"""AppArmor admission: whether the node can enforce the profiles of a pod. Runs for every new pod after the predicates.

Whether a Localhost profile is loaded is not checked here: the runtime refuses to create the container.

Mirrors: pkg/security/apparmor/validate.go, helpers.go isRequired; pkg/kubelet/lifecycle/handlers.go
appArmorAdmitHandler
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.golang.text import quoted
from kubesim.runtime.kuberuntime.decide.security_profiles import APP_ARMOR_ANNOTATION_PREFIX, get_app_armor_profile

REASON = "AppArmor"
NOT_ENABLED = "AppArmor is not enabled on the host"


class AppArmorAdmission:
    """Admission handler. `enabled`: the kubelet found AppArmor when it started."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._host_error = "" if enabled else NOT_ENABLED

    def admit(self, pod: Pod) -> tuple[str, str]:
        """Reason and message of the rejection; both empty if admitted. A pod that ran before is not checked again."""
        if pod.status.phase != "Pending":
            return "", ""
        problem = validate(pod, self._host_error)
        return (REASON, f"Cannot enforce AppArmor: {problem}") if problem else ("", "")


def validate(pod: Pod, host_error: str = "") -> str:
    """The reason why the profiles cannot be enforced; empty if they can."""
    if not _is_required(pod):
        return ""
    if host_error:
        return host_error
    for container in _containers(pod):
        profile = get_app_armor_profile(pod, container)
        if profile is None or profile.get("type") != "Localhost":
            continue
        name = profile.get("localhostProfile")
        if name is None or not name.strip():
            shown = "nil" if name is None else f"*{name}"
            text = f"&AppArmorProfile{{Type:Localhost,LocalhostProfile:{shown},}}"
            return f"invalid empty AppArmor profile name: {quoted(text)}"
    return ""


def _is_required(pod: Pod) -> bool:
    """Whether the pod or a container sets a profile other than Unconfined. Upstream checks one of several annotations
    in random order; this checks the first by name.
    """
    for context in (pod.spec.security_context, *[container.security_context for container in _containers(pod)]):
        profile = context and context.get("appArmorProfile")
        if profile and profile.get("type") != "Unconfined":
            return True
    annotations = pod.metadata.annotations
    if not annotations:
        return False
    first = min((key for key in annotations if key.startswith(APP_ARMOR_ANNOTATION_PREFIX)), default=None)
    return first is not None and annotations[first] != "unconfined"


def _containers(pod: Pod) -> tuple[Container, ...]:
    spec = pod.spec
    return (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)

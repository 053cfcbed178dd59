"""Names: pods in messages, log files, back-off keys, field paths of Events.

The runtime manager uses them to create sandboxes and containers and to report on them.

Mirrors: kuberuntime/helpers.go (log paths, GetBackoffKey), kuberuntime/legacy.go (logSymlink), container/ref.go
fieldPath, util/format/pod.go.
"""

from __future__ import annotations

from functools import lru_cache

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.pod_kinds import pod_full_name
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.golang.fnv import fnv1a
from kubesim.runtime.kuberuntime.container_hash import hash_container
from kubesim.runtime.kuberuntime.hash_text import resources_text
from kubesim.values import value_object

POD_LOGS_ROOT = "/var/log/pods"
LEGACY_CONTAINER_LOGS_DIR = "/var/log/containers"
IMPLICIT_CONTAINER_PREFIX = "implicitly required container "

_MAX_FILE_NAME = 255  # ext4
_LOG_SUFFIX = ".log"


@value_object
class SandboxMetadata:
    """The identity of a sandbox in CRI."""

    name: str
    namespace: str
    uid: str
    attempt: int


def sandbox_metadata(pod: Pod, attempt: int) -> SandboxMetadata:
    return SandboxMetadata(pod.metadata.name, pod.metadata.namespace, pod.metadata.uid, attempt)


def format_pod(pod: Pod) -> str:
    """A pod in messages: `name_namespace(uid)`."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"


def pod_logs_directory(pod: Pod, root: str = POD_LOGS_ROOT) -> str:
    meta = pod.metadata
    return f"{root}/{meta.namespace}_{meta.name}_{meta.uid}"


def container_logs_directory(pod: Pod, container_name: str, root: str = POD_LOGS_ROOT) -> str:
    return f"{pod_logs_directory(pod, root)}/{container_name}"


def container_log_path(container_name: str, restart_count: int) -> str:
    """The log file of one attempt, relative to the pod's log directory."""
    return f"{container_name}/{restart_count}{_LOG_SUFFIX}"


def legacy_log_symlink(pod: Pod, container_name: str, bare_container_id: str) -> str:
    """The symlink that log collectors follow; a long pod name truncates the container id."""
    name = f"{pod_full_name(pod)}_{container_name}-{bare_container_id}"
    return f"{LEGACY_CONTAINER_LOGS_DIR}/{name[: _MAX_FILE_NAME - len(_LOG_SUFFIX)]}{_LOG_SUFFIX}"


def backoff_key(pod: Pod, container: Container, rules: Rules = DEFAULT_RULES) -> str:
    """The crash-loop key of a container. Changed image or resources give a new key, which resets the back-off."""
    meta = pod.metadata
    if rules.hashes_whole_container:
        return f"{meta.name}_{meta.namespace}_{meta.uid}_{container.name}_{hash_container(container, rules):x}"
    parts = (meta.name, meta.namespace, meta.uid, container.name, container.image, resources_text(container.resources))
    return _fnv64_hex("/".join(parts))


@lru_cache(maxsize=4096)
def _fnv64_hex(text: str) -> str:
    return f"{fnv1a(text.encode(), 64):x}"


def container_field_path(pod: Pod, container_name: str) -> str:
    """The field path of an Event about this container: `spec.containers{web}`."""
    spec = pod.spec
    return (
        _field_path("containers", spec.containers, container_name)
        or _field_path("initContainers", spec.init_containers, container_name)
        or _field_path("ephemeralContainers", spec.ephemeral_containers, container_name)
        or IMPLICIT_CONTAINER_PREFIX + container_name
    )


def _field_path(field: str, containers: tuple[Container, ...], name: str) -> str:
    for index, container in enumerate(containers):
        if container.name == name:
            return f"spec.{field}{{{name}}}" if name else f"spec.{field}[{index}]"
    return ""

"""The mounts of a container, and the errors that prevent them.

Computed before the container is created, after its environment. A missing object becomes the message of the waiting
reason CreateContainerConfigError.

Mirrors: pkg/kubelet/kubelet_pods.go makeMounts, makeBlockVolumes, translateMountPropagation, resolveRecursiveReadOnly;
pkg/kubelet/container/helpers.go ExpandContainerVolumeMounts
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubesim.api.pod import Container
from kubesim.features import FeatureGates
from kubesim.golang.text import quoted
from kubesim.runtime.expansion import expand, references
from kubesim.runtime.helper import ContainerConfigError
from kubesim.runtime.types import ContainerMount
from kubesim.runtime.volume_directories import SubPathProblem, VolumeDirectory

_RRO_GATE = "RecursiveReadOnlyMounts"
_PROPAGATION = {"None": "private", "HostToContainer": "host to container", "Bidirectional": "bidirectional"}

PodVolumes = Mapping[str, VolumeDirectory]  # by name in the pod
PrepareSubPath = Callable[[str, str], SubPathProblem | None]  # volume name, path in it


def make_mounts(
    container: Container,
    volumes: PodVolumes,
    env: Sequence[tuple[str, str]],
    prepare_sub_path: PrepareSubPath,
    gates: FeatureGates,
    *,
    supports_recursive_read_only: bool = True,
) -> tuple[ContainerMount, ...]:
    """The mounts in the order of volumeMounts. Raises ContainerConfigError."""
    return tuple(
        [
            _mount(mount, container, volumes, env, prepare_sub_path, gates, supports_recursive_read_only)
            for mount in container.volume_mounts
        ]
    )


def _mount(
    mount: Mapping[str, Any],
    container: Container,
    volumes: PodVolumes,
    env: Sequence[tuple[str, str]],
    prepare_sub_path: PrepareSubPath,
    gates: FeatureGates,
    supports_rro: bool,
) -> ContainerMount:
    name = mount.get("name") or ""
    volume = volumes.get(name)
    if volume is None:
        raise ContainerConfigError(
            f"cannot find volume {quoted(name)} to mount into container {quoted(container.name)}"
        )
    sub_path = _sub_path(mount, env) if "subPath" in mount or "subPathExpr" in mount else ""
    if sub_path and volume.plugin != "image":  # the runtime resolves sub-paths of images
        problem = prepare_sub_path(name, sub_path)
        if problem is not None:
            where = f"for volumeMount {quoted(name)} of container {quoted(container.name)}"
            raise ContainerConfigError(f"failed to {problem} {where}")
    propagation = mount.get("mountPropagation")
    if propagation is not None and propagation not in _PROPAGATION:
        raise ContainerConfigError(f"invalid MountPropagation mode: {quoted(propagation)}")
    try:
        recursive = resolve_recursive_read_only(mount, supports_rro)
    except ValueError as error:
        raise ContainerConfigError(f"failed to resolve recursive read-only mode: {error}") from None
    if recursive and not gates.enabled(_RRO_GATE):
        raise ContainerConfigError(f"recursive read-only mount needs feature gate {quoted(_RRO_GATE)} to be enabled")
    path = mount.get("mountPath") or ""
    return ContainerMount(
        name,
        path if path.startswith("/") else f"/{path}",
        sub_path,
        read_only=bool(mount.get("readOnly")) or volume.read_only,
        recursive_read_only=recursive,
        propagation=_PROPAGATION[propagation or "None"],
    )


def _sub_path(mount: Mapping[str, Any], env: Sequence[tuple[str, str]]) -> str:
    path: str = mount.get("subPath") or ""
    if expression := mount.get("subPathExpr"):
        variables = dict(env)
        missing = sorted({name for name in references(expression) if not variables.get(name)})
        if missing:
            raise ContainerConfigError(f"missing value for {', '.join(missing)}")
        path = expand(expression, variables)
    if path.startswith("/"):
        raise ContainerConfigError(f"error SubPath `{path}` must not be an absolute path")
    if ".." in path.split("/"):
        raise ContainerConfigError(f"unable to provision SubPath `{path}`: must not contain '..'")
    return path


def resolve_recursive_read_only(mount: Mapping[str, Any], supported: bool) -> bool:
    """Whether a read-only mount is recursively read-only. Raises ValueError if the mode is unsupported."""
    mode = mount.get("recursiveReadOnly")
    if mode is None or mode == "Disabled":
        return False
    requested = f"volume {quoted(mount.get('name') or '')} requested recursive read-only mode, but it is not"
    if not mount.get("readOnly"):
        raise ValueError(f"{requested} read-only")
    propagation = mount.get("mountPropagation") or "None"
    if propagation != "None":
        raise ValueError(f"{requested} compatible with propagation {quoted(propagation)}")
    if mode == "IfPossible":
        return supported
    if mode != "Enabled":
        raise ValueError(f"unknown recursive read-only mode {quoted(mode)}")
    if not supported:
        raise ValueError(f"{requested} supported by the runtime")
    return True


def check_block_volumes(container: Container, volumes: PodVolumes) -> None:
    """Check the container's block devices. Raises ContainerConfigError."""
    for device in container.volume_devices:
        path, name = device.get("devicePath") or "", device.get("name") or ""
        if not path.startswith("/"):
            raise ContainerConfigError(f"error DevicePath `{path}` must be an absolute path")
        if name not in volumes:
            text = f"cannot find volume {quoted(name)} to pass into container {quoted(container.name)}"
            raise ContainerConfigError(text)

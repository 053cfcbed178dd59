"""What a node with real containers has on this machine: the files that its kubelet mounts, and its containers' logs.

    STATE/nodes/NODE/pods/UID/volumes/kubernetes.io~PLUGIN/NAME    volumes
    STATE/nodes/NODE/pods/UID/containers/NAME/RANDOM               termination messages
    STATE/nodes/NODE/pods/UID/etc-hosts                            the hosts file
    STATE/nodes/NODE/logs/NAMESPACE_POD_UID/NAME/ATTEMPT.log       logs, written by the runtime

Mirrors: pkg/kubelet/kubelet_getters.go; kuberuntime_container.go makeMounts, getTerminationMessage
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from kubesim.clock.wall import unique_name
from kubesim.runtime.cri.client.logs.entries import last_output
from kubesim.runtime.cri.client.machine import MachineFacts
from kubesim.runtime.cri.client.messages.containers import HostMount
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.hosts_file import ETC_HOSTS
from kubesim.runtime.kuberuntime.labels import (
    CONTAINER_TERMINATION_MESSAGE_PATH,
    CONTAINER_TERMINATION_MESSAGE_POLICY,
)
from kubesim.runtime.kuberuntime.naming import POD_LOGS_ROOT
from kubesim.runtime.protocol import ContainerConfig, SandboxConfig
from kubesim.runtime.types import ContainerMount

MAX_MESSAGE = 4096  # bytes of a termination message that are read
_EXITED = pb.ContainerState.Value("CONTAINER_EXITED")

# uid of the pod, name of the volume in it, path in the volume -> the path on this machine
FindVolume = Callable[[str, str, str], str]


class CriNodeHost:
    """`directory` is the node's own below the state directory. `cgroup_prefix` is a cgroup below which all of its pods
    are; empty: at the root."""

    def __init__(self, directory: str, machine: MachineFacts, find_volume: FindVolume, cgroup_prefix: str = "") -> None:
        self.directory = directory
        self.machine = machine
        self._find_volume = find_volume
        self._cgroup_prefix = cgroup_prefix

    @property
    def logs(self) -> str:
        return f"{self.directory}/logs"

    def pod_directory(self, uid: str) -> str:
        return f"{self.directory}/pods/{uid}"

    def cgroup_parent(self, parent: str) -> str:
        return f"{self._cgroup_prefix}{parent}"

    def log_directory(self, directory: str) -> str:
        """The kubelet's, below /var/log/pods, as it really is."""
        below = directory.removeprefix(POD_LOGS_ROOT)
        return directory if below == directory else f"{self.logs}{below}"

    def make_log_directory(self, config: SandboxConfig, container: str = "") -> None:
        os.makedirs(posixpath.join(self.log_directory(config.log_directory), container), mode=0o755, exist_ok=True)

    def container_logs(self, uid: str, container: str) -> list[str]:
        """The directories with logs of the container."""
        return [f"{self.logs}/{name}/{container}" for name in os.listdir(self.logs) if name.endswith(f"_{uid}")]

    # -- mounts -----------------------------------------------------------------------------------------------------

    def mounts(self, config: ContainerConfig, sandbox: SandboxConfig) -> Iterator[HostMount]:
        """In the kubelet's order: volumes, the hosts file, the file for the termination message."""
        uid, container = sandbox.pod.metadata.uid, config.container
        images = {each.get("name", ""): each["image"].get("reference", "") for each in _image_volumes(sandbox)}
        for mount in config.mounts:
            if mount.name in images:
                yield HostMount(mount, "", images[mount.name])
            else:
                yield HostMount(mount, mount.host_path or self._find_volume(uid, mount.name, mount.sub_path))
        if config.hosts_file is not None:
            path = f"{self.pod_directory(uid)}/etc-hosts"
            _write(path, config.hosts_file.content(), 0o644)
            yield HostMount(ContainerMount("", ETC_HOSTS), path)
        if container.termination_message_path:
            path = f"{self.pod_directory(uid)}/containers/{container.name}/{unique_name(4)}"
            _write(path, "", 0o666)
            yield HostMount(ContainerMount("", _absolute(container.termination_message_path)), path)

    # -- the end of a container -------------------------------------------------------------------------------------

    def termination_message(self, status: pb.ContainerStatus) -> str:
        """The message of an exited container: from its file or, depending on its policy, the end of its log."""
        if status.state != _EXITED:
            return ""
        policy = status.annotations.get(CONTAINER_TERMINATION_MESSAGE_POLICY, "")
        falls_back = policy == "FallbackToLogsOnError" and status.exit_code != 0
        falls_back = falls_back and status.reason != "ContainerCannotRun"
        message, check_logs = self._message_file(status, falls_back)
        return last_output(self.own_path(status.log_path)) if check_logs else message

    def _message_file(self, status: pb.ContainerStatus, falls_back: bool) -> tuple[str, bool]:
        """The message, and whether to read the log instead."""
        given = status.annotations.get(CONTAINER_TERMINATION_MESSAGE_PATH, "")
        wanted = _absolute(given) if given else ""
        mount = next((each for each in status.mounts if each.container_path == wanted), None) if wanted else None
        if mount is None:
            return "", falls_back
        path = self.own_path(mount.host_path)
        try:
            with open(path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_MESSAGE))
                text = file.read(MAX_MESSAGE).decode(errors="replace")
        except FileNotFoundError:
            return "", falls_back
        except OSError as error:
            return f"Error on reading termination log {path}: {error.strerror}", False
        return text, falls_back and not text

    def own_path(self, path: str) -> str:
        """The path, if it is below our directory; else one that does not exist: a runtime must not select which files
        kubesim reads."""
        real = os.path.realpath(path)
        return real if real.startswith(f"{os.path.realpath(self.directory)}/") else f"{self.directory}/nowhere"


def _image_volumes(sandbox: SandboxConfig) -> list[dict[str, Any]]:
    return [volume for volume in sandbox.pod.spec.volumes if volume.get("image") is not None]


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _write(path: str, text: str, mode: int) -> None:
    os.makedirs(posixpath.dirname(path), mode=0o755, exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)

"""`kubectl logs`: selects containers, reproduces the kubelet's answer for each, and formats lines.

Mirrors: kubectl/pkg/polymorphichelpers logsforobject.go, kubectl/pkg/cmd/util/podcmd podcmd.go; pkg/kubelet
kubelet_pods.go validateContainerLogStatus; pkg/registry/core/pod strategy.go LogLocation
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.cluster.kubectl.arguments import KubectlError
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.values import value_object

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_PULLING = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


@value_object
class LogSource:
    """A container whose log was requested."""

    pod: JsonObject
    container: str

    @property
    def prefix(self) -> str:
        return f"[pod/{self.pod['metadata']['name']}/{self.container}] "


def container_names(pod: JsonObject) -> list[str]:
    """The containers in the order of `--all-containers`: init containers first."""
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [each["name"] for kind in kinds for each in dig(pod, f"spec.{kind}", ())]


def sources(pod: JsonObject, container: str, *, all_containers: bool) -> tuple[list[LogSource], str]:
    """The containers, and kubectl's message about its default choice."""
    name, names = pod["metadata"]["name"], container_names(pod)
    if all_containers:
        return [LogSource(pod, each) for each in names], ""
    if container:
        if container not in names:
            raise KubectlError(f"error: container {container} is not valid for pod {name} out of: {_marked(pod)}")
        return [LogSource(pod, container)], ""
    main = [each["name"] for each in dig(pod, "spec.containers", ())]
    default = dig(pod, "metadata.annotations", {}).get(DEFAULT_CONTAINER, "")
    if default in names:
        return [LogSource(pod, default)], ""
    if len(names) == 1:
        return [LogSource(pod, names[0])], ""
    return [LogSource(pod, main[0])], f'Defaulted container "{main[0]}" out of: {_marked(pod)}'


def _marked(pod: JsonObject) -> str:
    kinds = (("containers", ""), ("ephemeralContainers", " (ephem)"), ("initContainers", " (init)"))
    return ", ".join(each["name"] + mark for kind, mark in kinds for each in dig(pod, f"spec.{kind}", ()))


def container_id(source: LogSource, *, previous: bool) -> str:
    """The container id whose log is read; empty: there is no log. Raises the kubelet's error."""
    pod, name = source.pod, source.container
    if not dig(pod, "spec.nodeName"):
        return ""
    where = f'container "{name}" in pod "{pod["metadata"]["name"]}"'
    status = next((each for each in _statuses(pod) if each["name"] == name), None)
    if status is None:
        raise _refused(f"{where} is not available")
    last, ended = dig(status, "lastState.terminated"), dig(status, "state.terminated")
    last_id, ended_id = dig(last, "containerID", ""), dig(ended, "containerID", "")
    if previous:
        if not last_id:
            raise _refused(f"previous terminated {where} not found")
        return str(last_id)
    if dig(status, "state.running") is not None:
        return str(status.get("containerID", ""))
    if ended is not None or last is not None:
        if not ended_id and not last_id:
            raise _refused(f"{where} is terminated")
        return str(ended_id or last_id)
    if dig(status, "state.waiting") is None:
        raise _refused(f"{where} is waiting to start - no logs yet")
    waiting = dig(status, "state.waiting.reason", "")
    raise _refused(f"{where} is waiting to start: {_PULLING.get(waiting, waiting)}")


def _statuses(pod: JsonObject) -> list[JsonObject]:
    kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    return [status for kind in kinds for status in dig(pod, f"status.{kind}", ())]


def _refused(problem: str) -> KubectlError:
    return KubectlError(f"Error from server (BadRequest): {problem}")


def last_lines(lines: Sequence[str], tail: int) -> Sequence[str]:
    """The last `count` lines; all if it is negative."""
    return lines if tail < 0 else lines[len(lines) - tail :] if tail else ()

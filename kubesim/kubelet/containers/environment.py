"""The environment of a container: envFrom (whole ConfigMaps and Secrets) first, then env in the order of the manifest.

A later variable replaces an earlier one of the same name, and may refer to earlier ones as $(NAME). Variables of
Services have the lowest precedence. The runtime manager requests the environment before each container creation; a
missing object blocks the creation.

Where the kubelet iterates over a map, names are sorted here.

Mirrors: pkg/kubelet/kubelet_pods.go makeEnvironmentVariables
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from kubesim.api.configuration import configuration
from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Container, EnvVar, Pod
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.containers.downward_api import container_resource_value, pod_field_value
from kubesim.kubelet.containers.service_variables import ServiceLister, get_service_env_var_map
from kubesim.runtime.expansion import MAX_MESSAGE, MessageTooLarge, expand
from kubesim.runtime.helper import ContainerConfigError
from kubesim.runtime.volume_directories import VolumeFile
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.api.workloads.services import Service

Find = Callable[[str, str, str], ApiObject | None]  # kind, namespace, name
FindFile = Callable[[Pod, str, str], VolumeFile | None]  # volume, path in it; None: no such volume is mounted


@part
class EnvironmentSources:
    """Sources of environment variables."""

    node_name: str
    host_ips: tuple[str, ...]
    find: Find
    services: ServiceLister | None = None  # None: a kubelet without an API server
    find_file: FindFile = lambda pod, volume, path: None
    gates: FeatureGates = DEFAULT_GATES


def make_environment(
    pod: Pod, container: Container, pod_ips: tuple[str, ...], sources: EnvironmentSources
) -> tuple[tuple[str, str], ...]:
    """Names and values. Raises ContainerConfigError if a required reference is missing, MessageTooLarge."""
    services = _service_variables(pod, sources.services)
    if not container.env and not container.env_from:
        return tuple(services.items())
    variables = _from_whole_objects(pod, container, sources.find)
    size = 0
    for variable in container.env:
        value: str | None = variable.value
        if value:
            value = expand(value, services | variables) if "$" in value else value
        else:
            value = _value_from(variable, pod, container, pod_ips, sources)
        if value is not None:
            variables[variable.name] = value
            size += len(value)
            if size > MAX_MESSAGE:
                raise MessageTooLarge(size)
    for name, value in services.items():
        variables.setdefault(name, value)
    return tuple(variables.items())


def _service_variables(pod: Pod, lister: ServiceLister | None) -> dict[str, str]:
    """Service variables. An API server's pod waits for the list of Services, for its KUBERNETES_SERVICE_HOST."""
    links = pod.spec.enable_service_links
    if links is None:
        raise ContainerConfigError("nil pod.spec.enableServiceLinks encountered, cannot construct envvars")
    if lister is None:
        return {}
    if not lister.has_synced and not is_static_pod(pod):
        raise ContainerConfigError("services have not yet been read at least once, cannot construct envvars")
    services = cast("Iterable[Service]", lister.list())
    return get_service_env_var_map(services, pod.metadata.namespace, enable_links=links)


def _value_from(
    variable: EnvVar, pod: Pod, container: Container, pod_ips: tuple[str, ...], sources: EnvironmentSources
) -> str | None:
    """The value of a valueFrom; None if it is missing and optional."""
    source: Mapping[str, Any] = variable.value_from or {}
    if (field := source.get("fieldRef")) is not None:
        return pod_field_value(field, pod, pod_ips, sources.host_ips)
    if (resource := source.get("resourceFieldRef")) is not None:
        node = sources.find("Node", "", sources.node_name)
        if not isinstance(node, Node):
            raise ContainerConfigError("failed to find node object, expected a node")
        return container_resource_value(resource, pod, container, node.status.allocatable, sources.gates)
    if (key := source.get("configMapKeyRef")) is not None:
        return _key_of("ConfigMap", key, pod, sources.find)
    if (key := source.get("secretKeyRef")) is not None:
        return _key_of("Secret", key, pod, sources.find)
    if (file := source.get("fileKeyRef")) is not None and sources.gates.enabled("EnvFiles"):
        return _key_of_file(file, pod, sources.find_file)
    return ""


def _key_of_file(selector: Mapping[str, Any], pod: Pod, find_file: FindFile) -> str | None:
    """A key of an env file; None if missing and optional. An empty variable counts as missing."""
    from kubesim.kubelet.containers.env_file import EnvFileError, parse_env

    key, volume = selector.get("key") or "", selector.get("volumeName") or ""
    file = find_file(pod, volume, selector.get("path") or "")
    if file is None:
        raise ContainerConfigError(f"cannot find the volume {quoted(volume)} referenced by FileKeyRef")
    try:
        if file.text is None:
            raise EnvFileError(f"failed to open environment variable file {quoted(file.path)}")
        value = parse_env(file.text, key)
    except EnvFileError:  # the kubelet logs the reason and omits it from the pod's status
        raise ContainerConfigError("couldn't parse env file") from None
    if value or selector.get("optional"):
        return value or None
    raise ContainerConfigError(f"environment variable key {quoted(key)} not found in file {quoted(file.path)}")


def _from_whole_objects(pod: Pod, container: Container, find: Find) -> dict[str, str]:
    variables: dict[str, str] = {}
    for source in container.env_from:
        prefix = source.get("prefix") or ""
        for kind, field in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if source.get(field) is not None:
                content = _content(kind, source[field], pod, find) or {}
                variables.update({prefix + key: content[key] for key in sorted(content)})
                break
    return variables


def _key_of(kind: str, selector: Mapping[str, Any], pod: Pod, find: Find) -> str | None:
    """A key of a ConfigMap or Secret; None if missing and optional."""
    content = _content(kind, selector, pod, find)
    name, key = selector.get("name") or "", selector.get("key") or ""
    if content is None or key in content:
        return None if content is None else content[key]
    if selector.get("optional"):
        return None
    raise ContainerConfigError(f"couldn't find key {key} in {kind} {pod.metadata.namespace}/{name}")


def _content(kind: str, reference: Mapping[str, Any], pod: Pod, find: Find) -> dict[str, str] | None:
    """The data of a ConfigMap or Secret; None if missing and optional."""
    name = reference.get("name") or ""
    found = find(kind, pod.metadata.namespace, name)
    if found is not None:
        return configuration(found)
    if reference.get("optional"):
        return None
    raise ContainerConfigError(f"{kind.lower()} {quoted(name)} not found")

"""The environment of a container: whole ConfigMaps and Secrets first, then the variables in the order of the manifest.

A later variable replaces an earlier one of its name, and may refer to any before it as $(NAME). The runtime manager
asks for it whenever it is about to create a container; what is missing keeps the container from being created.

Mirrors: pkg/kubelet/kubelet_pods.go makeEnvironmentVariables
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.configuration import configuration
from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Container, EnvVar, Pod
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.containers.downward_api import container_resource_value, pod_field_value
from kubesim.runtime.expansion import expand
from kubesim.runtime.helper import ContainerConfigError

Find = Callable[[str, str, str], ApiObject | None]  # kind, namespace, name


def make_environment(
    pod: Pod,
    container: Container,
    pod_ips: tuple[str, ...],
    host_ips: tuple[str, ...],
    node_name: str,
    find: Find,
    gates: FeatureGates = DEFAULT_GATES,
) -> tuple[tuple[str, str], ...]:
    """Names and values. Raises ContainerConfigError if something that is not optional is missing."""
    variables = _from_whole_objects(pod, container, find)
    for variable in container.env:
        value: str | None = variable.value
        source = _value_from(variable)
        if value:
            value = expand(value, variables)
        elif source is None:
            value = ""
        elif (field := source.get("fieldRef")) is not None:
            value = pod_field_value(field, pod, pod_ips, host_ips)
        elif (resource := source.get("resourceFieldRef")) is not None:
            node = find("Node", "", node_name)
            if not isinstance(node, Node):
                raise ContainerConfigError("failed to find node object, expected a node")
            value = container_resource_value(resource, pod, container, node.status.allocatable, gates)
        elif (key := source.get("configMapKeyRef")) is not None:
            value = _key_of("ConfigMap", key, pod, find)
        elif (key := source.get("secretKeyRef")) is not None:
            value = _key_of("Secret", key, pod, find)
        if value is not None:
            variables[variable.name] = value
    return tuple(variables.items())


def _value_from(variable: EnvVar) -> Mapping[str, Any] | None:
    source: Mapping[str, Any] | None = variable.value_from
    return source


def _from_whole_objects(pod: Pod, container: Container, find: Find) -> dict[str, str]:
    variables: dict[str, str] = {}
    for source in container.env_from:
        prefix = source.get("prefix") or ""
        for kind, field in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if source.get(field) is not None:
                content = _content(kind, source[field], pod, find) or {}
                variables.update({prefix + key: value for key, value in content.items()})
                break
    return variables


def _key_of(kind: str, selector: Mapping[str, Any], pod: Pod, find: Find) -> str | None:
    """None: missing, and optional."""
    content = _content(kind, selector, pod, find)
    name, key = selector.get("name") or "", selector.get("key") or ""
    if content is None or key in content:
        return None if content is None else content[key]
    if selector.get("optional"):
        return None
    raise ContainerConfigError(f"couldn't find key {key} in {kind} {pod.metadata.namespace}/{name}")


def _content(kind: str, reference: Mapping[str, Any], pod: Pod, find: Find) -> dict[str, str] | None:
    """None: missing, and optional."""
    name = reference.get("name") or ""
    found = find(kind, pod.metadata.namespace, name)
    if found is not None:
        return configuration(found)
    if reference.get("optional"):
        return None
    raise ContainerConfigError(f"{kind.lower()} {quoted(name)} not found")

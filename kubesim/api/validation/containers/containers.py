"""Regular, init and ephemeral containers.

Mirrors: pkg/apis/core/validation validateContainerCommon, validateContainers, validateInitContainers,
validateEphemeralContainers
"""

from __future__ import annotations

from collections.abc import Set

from kubesim.api.validation import formats
from kubesim.api.validation.containers.env import validate_env, validate_env_from
from kubesim.api.validation.containers.handlers import (
    validate_lifecycle,
    validate_liveness_probe,
    validate_readiness_probe,
)
from kubesim.api.validation.containers.policies import (
    validate_init_restart_policy,
    validate_pull_policy,
    validate_resize_policy,
    validate_restart_policy,
)
from kubesim.api.validation.containers.resources import validate_resource_requirements
from kubesim.api.validation.containers.security import validate_security_context
from kubesim.api.validation.field import Errors, JsonObject, Named
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.volumes.mounts import validate_volume_devices, validate_volume_mounts
from kubesim.api.validation.volumes.volumes import Volumes
from kubesim.values import value_object

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
# A startup probe has the rule of a liveness probe: successThreshold must be 1.
_PROBES = {
    "livenessProbe": validate_liveness_probe,
    "readinessProbe": validate_readiness_probe,
    "startupProbe": validate_liveness_probe,
}
_ONLY_WITH_RESTART = ("lifecycle", *_PROBES)
# The other fields would make an ephemeral container part of the pod's service; in upstream's order.
_NOT_FOR_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)


@value_object
class PodContext:
    """Values shared by the containers of a pod."""

    volumes: Volumes
    claim_names: Set[str]
    grace: int
    restart_policy: str
    os: str | None
    host_users: bool
    options: PodValidationOptions


def _validate_common(errors: Errors, container: JsonObject, path: str, pod: PodContext) -> None:
    name = container.get("name", "")
    if not name:
        errors.required(f"{path}.name")
    else:
        errors.all_invalid(f"{path}.name", name, formats.dns1123_label(name))
    if not container.get("image"):
        errors.required(f"{path}.image")
    message_policy = container.get("terminationMessagePolicy", "")
    errors.unless_one_of(f"{path}.terminationMessagePolicy", message_policy, _MESSAGE_POLICIES)
    if container.get("ports"):
        _validate_ports(errors, container["ports"], f"{path}.ports")
    if container.get("env"):
        validate_env(errors, container["env"], f"{path}.env", pod.options)
    if container.get("envFrom"):
        validate_env_from(errors, container["envFrom"], f"{path}.envFrom")
    if container.get("volumeMounts"):
        validate_volume_mounts(errors, container, pod.volumes, f"{path}.volumeMounts")
    if container.get("volumeDevices"):
        validate_volume_devices(errors, container, pod.volumes, f"{path}.volumeDevices")
    validate_pull_policy(errors, container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy")
    if resources := container.get("resources"):
        validate_resource_requirements(errors, resources, pod.claim_names, f"{path}.resources")
    if resize_policy := container.get("resizePolicy"):
        validate_resize_policy(errors, resize_policy, f"{path}.resizePolicy", pod.restart_policy)
    if context := container.get("securityContext"):
        validate_security_context(errors, context, f"{path}.securityContext", pod.options, host_users=pod.host_users)


def _validate_ports(errors: Errors, ports: list[JsonObject], path: str) -> None:
    names: set[str] = set()
    for n, port in enumerate(ports):
        where, name, number = f"{path}[{n}]", port.get("name", ""), port.get("containerPort", 0)
        if name:
            complaints = formats.port_name(name)
            errors.all_invalid(f"{where}.name", name, complaints)
            if not complaints:
                if name in names:
                    errors.duplicate(f"{where}.name", name)
                names.add(name)
        if number == 0:
            errors.required(f"{where}.containerPort")
        else:
            errors.all_invalid(f"{where}.containerPort", number, formats.port_number(number))
        host_port = port.get("hostPort", 0)
        if host_port != 0:
            errors.all_invalid(f"{where}.hostPort", host_port, formats.port_number(host_port))
        errors.unless_one_of(f"{where}.protocol", port.get("protocol", ""), _PROTOCOLS)


def _validate_host_port_conflicts(errors: Errors, containers: list[JsonObject], path: str) -> None:
    taken: set[str] = set()
    for n, container in enumerate(containers):
        for m, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            address = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if address in taken:
                errors.duplicate(f"{path}[{n}].ports[{m}].hostPort", address)
            taken.add(address)


def _validate_running(errors: Errors, container: JsonObject, path: str, pod: PodContext) -> None:
    """Validate hooks and probes, which only long-running containers may have."""
    if container.get("lifecycle") is not None:
        validate_lifecycle(errors, container["lifecycle"], pod.grace, f"{path}.lifecycle", pod.os)
    for name, validate in _PROBES.items():
        if container.get(name) is not None:
            validate(errors, container[name], pod.grace, f"{path}.{name}")


def validate_containers(errors: Errors, containers: list[JsonObject], path: str, pod: PodContext) -> None:
    if not containers:
        errors.required(path)
        return
    names: set[str] = set()
    for n, container in enumerate(containers):
        where, name = f"{path}[{n}]", container.get("name", "")
        _validate_common(errors, container, where, pod)
        if name in names:
            errors.duplicate(f"{where}.name", name)
        names.add(name)
        _validate_running(errors, container, where, pod)
        if pod.options.gates.enabled("ContainerRestartRules"):
            validate_restart_policy(errors, container, where, pod.options)
        elif container.get("restartPolicy") is not None:
            errors.forbidden(f"{where}.restartPolicy", "may not be set for non-init containers")
    _validate_host_port_conflicts(errors, containers, path)


def validate_init_containers(
    errors: Errors, containers: list[JsonObject], regular: list[JsonObject], path: str, pod: PodContext
) -> None:
    names = {container.get("name", "") for container in regular}
    for n, container in enumerate(containers):
        where, name = f"{path}[{n}]", container.get("name", "")
        _validate_common(errors, container, where, pod)
        validate_init_restart_policy(errors, container, where, pod.options)
        if name in names:
            errors.duplicate(f"{where}.name", name)
        elif name:
            names.add(name)
        # Init containers run one by one, so upstream checks each of them as a list of its own.
        _validate_host_port_conflicts(errors, [container], path)
        sidecar = container.get("restartPolicy") == "Always"
        if sidecar:
            _validate_running(errors, container, where, pod)
        else:
            for field in _ONLY_WITH_RESTART:
                if container.get(field) is not None:
                    detail = "may not be set for init containers without restartPolicy=Always"
                    errors.forbidden(f"{where}.{field}", detail)
        _validate_init_resize_policy(errors, container, where, pod, sidecar=sidecar)


def _validate_init_resize_policy(
    errors: Errors, container: JsonObject, path: str, pod: PodContext, *, sidecar: bool
) -> None:
    policies = container.get("resizePolicy") or []
    if policies and not pod.options.gates.enabled("InPlacePodVerticalScaling"):
        shown = [
            {"ResourceName": policy.get("resourceName", ""), "RestartPolicy": policy.get("restartPolicy", "")}
            for policy in policies
        ]
        errors.invalid(f"{path}.resizePolicy", shown, "must not be set for init containers")
    if sidecar:
        return
    for n, policy in enumerate(policies):
        if policy.get("restartPolicy") == "RestartContainer":
            detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            errors.invalid(f"{path}.resizePolicy[{n}].restartPolicy", Named("RestartContainer"), detail)


def validate_ephemeral_containers(
    errors: Errors, containers: list[JsonObject], others: list[JsonObject], path: str, pod: PodContext
) -> None:
    other_names = {container.get("name", "") for container in others}
    names = set(other_names)
    for n, container in enumerate(containers):
        where, name = f"{path}[{n}]", container.get("name", "")
        _validate_common(errors, container, where, pod)
        validate_image_spacing(errors, container, where)
        if name in names:
            errors.duplicate(f"{where}.name", name)
        names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in other_names:
            errors.not_found(f"{where}.targetContainerName", target)
        for field in _NOT_FOR_EPHEMERAL:
            # Resources are not a pointer upstream: they count as set only if they are not empty.
            if container.get(field) is not None and (field != "resources" or container[field] != {}):
                errors.forbidden(f"{where}.{field}", "cannot be set for an Ephemeral Container")
        for m, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    detail = "cannot be set for an Ephemeral Container"
                    errors.forbidden(f"{where}.volumeMounts[{m}].{field}", detail)


def validate_image_spacing(errors: Errors, container: JsonObject, path: str) -> None:
    image = container.get("image", "")
    if image.strip() != image:
        errors.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")

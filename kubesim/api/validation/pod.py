"""Validation of a new pod: all checks of the API server, in its order.

The input is the JSON object after decoding and defaulting, so fields that always have a default are not required again.

Mirrors: pkg/apis/core/validation ValidatePodCreate, validatePodMetadataAndSpec, ValidatePodSpec
"""

from __future__ import annotations

from kubesim.api.meta import CONFIG_MIRROR
from kubesim.api.validation import formats
from kubesim.api.validation.annotations import (
    validate_app_armor_agreement,
    validate_pod_annotations,
    validate_seccomp_agreement,
)
from kubesim.api.validation.containers.containers import (
    PodContext,
    validate_containers,
    validate_ephemeral_containers,
    validate_image_spacing,
    validate_init_containers,
)
from kubesim.api.validation.containers.resources import (
    validate_pod_resource_claims,
    validate_pod_resources,
    validate_resource_requirements,
)
from kubesim.api.validation.containers.security import validate_pod_security_context
from kubesim.api.validation.containers.windows import validate_host_process_pod, validate_os
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.metadata import validate_labels, validate_object_meta
from kubesim.api.validation.network import (
    DNS_POLICIES,
    validate_dns_config,
    validate_host_aliases,
    validate_host_network_ports,
    validate_host_users,
    validate_hostname_override,
)
from kubesim.api.validation.options import DEFAULT_OPTIONS, PodValidationOptions
from kubesim.api.validation.scheduling import (
    validate_affinity,
    validate_scheduling_gates,
    validate_scheduling_group,
    validate_tolerations,
    validate_topology_spread,
)
from kubesim.api.validation.visit import Containers, containers_with_path
from kubesim.api.validation.volumes.volumes import validate_volumes


def validate_pod_create(pod: JsonObject, options: PodValidationOptions = DEFAULT_OPTIONS) -> Errors:
    """All errors of a new pod."""
    errors = Errors()
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    validate_object_meta(errors, meta, "metadata")
    validate_pod_annotations(errors, pod, "metadata.annotations", options)
    validate_pod_spec(errors, spec, meta, "spec", options)
    _validate_token_volumes(errors, spec, "spec")
    for kind in ("containers", "initContainers"):
        for n, container in enumerate(spec.get(kind) or ()):
            validate_image_spacing(errors, container, f"spec.{kind}[{n}]")
    if spec.get("ephemeralContainers"):
        errors.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    if meta.get("annotations"):
        validate_seccomp_agreement(errors, pod, "spec")
        validate_app_armor_agreement(errors, pod, "spec")
    return errors


def validate_pod_spec(
    errors: Errors, spec: JsonObject, meta: JsonObject, path: str, options: PodValidationOptions
) -> None:
    claims = spec.get("resourceClaims") or []
    claim_names = {claim["name"] for claim in claims if claim.get("name")}
    volumes = validate_volumes(errors, spec.get("volumes") or [], meta.get("name", ""), f"{path}.volumes", options)
    if claims:
        mirror = CONFIG_MIRROR in (meta.get("annotations") or {})
        validate_pod_resource_claims(errors, claims, f"{path}.resourceClaims", mirror=mirror)
    os = spec["os"].get("name", "") if spec.get("os") is not None else None
    restart_policy = spec.get("restartPolicy", "")
    host_users = spec.get("hostUsers") is not False
    grace = spec.get("terminationGracePeriodSeconds", 0)
    pod = PodContext(volumes, claim_names, grace, restart_policy, os, host_users, options)
    regular, init = spec.get("containers") or [], spec.get("initContainers") or []
    validate_containers(errors, regular, f"{path}.containers", pod)
    if init:
        validate_init_containers(errors, init, regular, f"{path}.initContainers", pod)
    if ephemeral := spec.get("ephemeralContainers"):
        validate_ephemeral_containers(errors, ephemeral, [*regular, *init], f"{path}.ephemeralContainers", pod)
    if options.gates.enabled("PodLevelResources"):
        validate_pod_resources(errors, spec, claim_names, path)
    containers = containers_with_path(spec, path)
    _validate_sharing_and_placement(errors, spec, containers, path, options)
    _validate_names(errors, spec, path, options)
    _validate_rest(errors, spec, containers, path)


def _validate_sharing_and_placement(
    errors: Errors, spec: JsonObject, containers: Containers, path: str, options: PodValidationOptions
) -> None:
    """Validate the namespaces that the pod shares with its node, and its scheduling constraints."""
    validate_host_network_ports(errors, spec, path, options)
    errors.unless_one_of(f"{path}.restartPolicy", spec.get("restartPolicy", ""), ("Always", "OnFailure", "Never"))
    errors.unless_one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy", ""), DNS_POLICIES)
    if spec.get("nodeSelector"):
        validate_labels(errors, spec["nodeSelector"], f"{path}.nodeSelector")
    validate_pod_security_context(errors, spec, f"{path}.securityContext", options)
    if spec.get("affinity"):
        validate_affinity(errors, spec["affinity"], f"{path}.affinity")
    validate_dns_config(errors, spec, f"{path}.dnsConfig", options)
    for n, gate in enumerate(spec.get("readinessGates") or ()):
        condition = gate.get("conditionType", "")
        errors.all_invalid(f"{path}.readinessGates[{n}].conditionType", condition, formats.label_key(condition))
    if spec.get("schedulingGates"):
        validate_scheduling_gates(errors, spec["schedulingGates"], f"{path}.schedulingGates")
    if constraints := spec.get("topologySpreadConstraints"):
        validate_topology_spread(errors, constraints, f"{path}.topologySpreadConstraints", options)
    validate_host_process_pod(errors, spec, containers, path, options)
    validate_host_users(errors, spec, containers, path, options)
    validate_hostname_override(errors, spec, path)


def _validate_names(errors: Errors, spec: JsonObject, path: str, options: PodValidationOptions) -> None:
    # Decoding has merged the deprecated field serviceAccount into serviceAccountName.
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            errors.all_invalid(f"{path}.{name}", spec[name], formats.dns1123_subdomain(spec[name]))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= formats.MAX_INT32:
        errors.invalid(f"{path}.activeDeadlineSeconds", deadline, formats.range_error(1, formats.MAX_INT32))
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            errors.all_invalid(f"{path}.{name}", spec[name], formats.dns1123_label(spec[name]))
    validate_tolerations(errors, spec.get("tolerations") or [], f"{path}.tolerations", options)
    if spec.get("hostAliases"):
        validate_host_aliases(errors, spec["hostAliases"], f"{path}.hostAliases", options)
    for name in ("priorityClassName", "runtimeClassName"):
        # An empty runtime class was set on purpose, because it is a pointer upstream; an empty priority class was not.
        value = spec.get(name)
        if value or (value is not None and name == "runtimeClassName"):
            errors.all_invalid(f"{path}.{name}", value, formats.dns1123_subdomain(value))


def _validate_rest(errors: Errors, spec: JsonObject, containers: Containers, path: str) -> None:
    preemption = spec.get("preemptionPolicy")
    if preemption == "":
        errors.required(f"{path}.preemptionPolicy")
    elif preemption is not None:
        errors.unless_one_of(f"{path}.preemptionPolicy", preemption, ("PreemptLowerPriority", "Never"))
    if spec.get("overhead") is not None:
        validate_resource_requirements(errors, {"limits": spec["overhead"]}, set(), f"{path}.overhead")
    validate_os(errors, spec, path)
    if spec.get("schedulingGroup") is not None:
        validate_scheduling_group(errors, spec["schedulingGroup"], f"{path}.schedulingGroup")
    _validate_file_key_volumes(errors, spec, containers)


def _validate_file_key_volumes(errors: Errors, spec: JsonObject, containers: Containers) -> None:
    """Check that each variable from a file refers to an emptyDir."""
    for container, where in containers:
        for n, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
            name = reference.get("volumeName", "")
            at = f"{where}.env[{n}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                errors.not_found(at, name)
            elif volumes[name].get("emptyDir") is None:
                errors.invalid(at, name, "referenced volume must be of type emptyDir")


def _validate_token_volumes(errors: Errors, spec: JsonObject, path: str) -> None:
    if spec.get("serviceAccountName"):
        return
    for n, volume in enumerate(spec.get("volumes") or ()):
        for m, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                where = f"{path}.volumes[{n}].projected.sources[{m}].serviceAccountToken"
                errors.forbidden(where, "must not be specified when serviceAccountName is not set")

"""Defaults and validation of Ingresses and IngressClasses.

Mirrors: pkg/apis/networking/validation ValidateIngressSpec, validateIngressClassSpec, ValidateIngressLoadBalancerStatus
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.network import is_address, validate_balancer, validate_path_segment
from kubesim.api.workloads.rules.kind_rules import KindRules

CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_CONTROLLER_MAX = 250
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END = ("/..", "/.")


def _validate(errors: Errors, ingress: JsonObject) -> None:
    spec = ingress.get("spec") or {}
    rules, backend, class_name = spec.get("rules") or [], spec.get("defaultBackend"), spec.get("ingressClassName")
    if not rules and backend is None:
        errors.invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        _validate_backend(errors, backend, "spec.defaultBackend")
    for n, rule in enumerate(rules):
        _validate_rule(errors, rule, f"spec.rules[{n}]")
    for n, tls in enumerate(spec.get("tls") or ()):
        for m, host in enumerate(tls.get("hosts") or ()):
            errors.all_invalid(f"spec.tls[{n}].hosts[{m}]", host, _host(host))
        secret = tls.get("secretName")
        if secret:
            errors.all_invalid(f"spec.tls[{n}].secretName", secret, formats.dns1123_subdomain(secret))
    if class_name is not None:
        errors.all_invalid("spec.ingressClassName", class_name, formats.dns1123_subdomain(class_name))
    annotated = (ingress["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    is_new = not ingress["metadata"].get("resourceVersion")
    if is_new and None not in (annotated, class_name) and annotated != class_name:
        detail = "must match `ingressClassName` when both are specified"
        errors.invalid(f"annotations.{CLASS_ANNOTATION}", annotated, detail)


def _host(host: str) -> list[str]:
    return formats.wildcard_subdomain(host) if "*" in host else list(formats.dns1123_subdomain(host))


def _validate_rule(errors: Errors, rule: JsonObject, path: str) -> None:
    host, http = rule.get("host"), rule.get("http")
    if host:
        if is_address(host):
            errors.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        errors.all_invalid(f"{path}.host", host, _host(host))
    if http is None:
        return
    if not http.get("paths"):
        errors.required(f"{path}.http.paths")
    for n, each in enumerate(http.get("paths") or ()):
        _validate_path(errors, each, f"{path}.http.paths[{n}]")


def _validate_path(errors: Errors, each: JsonObject, path: str) -> None:
    kind, text = each.get("pathType"), each.get("path", "")
    if kind is None:
        errors.required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        errors.unsupported(f"{path}.pathType", kind, _PATH_TYPES)
    elif (text or kind != "ImplementationSpecific") and not text.startswith("/"):
        errors.invalid(f"{path}.path", text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for part in _NOT_IN_PATHS:
            if part in text:
                errors.invalid(f"{path}.path", text, f"must not contain '{part}'")
        for end in _NOT_AT_THE_END:
            if text.endswith(end):
                errors.invalid(f"{path}.path", text, f"cannot end with '{end}'")
    _validate_backend(errors, each.get("backend") or {}, f"{path}.backend")


def _validate_backend(errors: Errors, backend: JsonObject, path: str) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        errors.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        _validate_reference(errors, resource, f"{path}.resource")
    elif service is not None:
        _validate_service(errors, service, path)
    else:
        errors.invalid(path, "", "resource or service backend is required")


def _validate_service(errors: Errors, service: JsonObject, path: str) -> None:
    name, port = service.get("name", ""), service.get("port") or {}
    if not name:
        errors.required(f"{path}.service.name")
    else:
        errors.all_invalid(f"{path}.service.name", name, formats.dns1123_label(name))
    port_name, number = port.get("name", ""), port.get("number", 0)
    if port_name and number:
        errors.invalid(path, "", "cannot set both port name & port number")
    elif port_name:
        errors.all_invalid(f"{path}.service.port.name", port_name, formats.port_name(port_name))
    elif number:
        errors.all_invalid(f"{path}.service.port.number", number, formats.port_number(number))
    else:
        errors.required(path, "port name or number is required")


def _validate_reference(errors: Errors, reference: JsonObject, path: str) -> None:
    group = reference.get("apiGroup")
    if group is not None:
        errors.all_invalid(f"{path}.apiGroup", group, formats.dns1123_subdomain(group))
    validate_path_segment(errors, reference.get("kind", ""), f"{path}.kind")
    validate_path_segment(errors, reference.get("name", ""), f"{path}.name")


def _validate_status(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    balancer = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    for n, ingress in enumerate(balancer):
        validate_balancer(errors, ingress, f"status.loadBalancer.ingress[{n}]")


# -- classes --------------------------------------------------------------------------------------------------------


def _default_class(ingress_class: JsonObject) -> None:
    parameters = (ingress_class.get("spec") or {}).get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def _validate_class(errors: Errors, ingress_class: JsonObject) -> None:
    spec = ingress_class.get("spec") or {}
    controller = spec.get("controller", "")
    host, _, rest = controller.partition("/")
    if formats.size(controller) > _CONTROLLER_MAX:
        errors.too_long("spec.controller", _CONTROLLER_MAX)
    if not controller:
        errors.required("spec.controller")
    elif not host or not rest:
        errors.invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        errors.all_invalid("spec.controller", host, formats.dns1123_subdomain(host))
        errors.all_invalid("spec.controller", rest, formats.http_path(rest))
    if spec.get("parameters") is not None:
        _validate_parameters(errors, spec["parameters"], "spec.parameters")


def _validate_parameters(errors: Errors, parameters: JsonObject, path: str) -> None:
    _validate_reference(errors, parameters, path)
    scope, namespace = parameters.get("scope", ""), parameters.get("namespace")
    errors.unless_one_of(f"{path}.scope", scope, ("Cluster", "Namespace"))
    if scope == "Namespace" and namespace is None:
        errors.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif scope == "Namespace":
        errors.all_invalid(f"{path}.namespace", namespace, formats.dns1123_label(namespace))
    elif scope == "Cluster" and namespace is not None:
        errors.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def _validate_class_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    controller, before = ((obj.get("spec") or {}).get("controller", "") for obj in (new, old))
    if controller != before:
        errors.invalid("spec.controller", controller, "field is immutable")


RULES: Mapping[str, KindRules] = {
    "Ingress": KindRules(validate=_validate, validate_status=_validate_status),
    "IngressClass": KindRules(_default_class, validate=_validate_class, validate_update=_validate_class_update),
}

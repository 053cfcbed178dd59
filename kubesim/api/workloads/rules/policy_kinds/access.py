"""Validation of roles and role bindings.

Mirrors: pkg/apis/rbac/validation/validation.go; pkg/apis/rbac/v1/defaults.go
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from kubesim.api.schema.codec import encode
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Raw
from kubesim.api.validation.metadata import validate_label_selector
from kubesim.api.validation.network import validate_path_segment
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.golang.json import dumps

GROUP = "rbac.authorization.k8s.io"


def _validate_role(errors: Errors, role: JsonObject, *, namespaced: bool) -> None:
    for n, rule in enumerate(role.get("rules") or ()):
        _validate_rule(errors, rule, f"rules[{n}]", namespaced=namespaced)
    if role.get("aggregationRule") is None:
        return
    selectors, path = role["aggregationRule"].get("clusterRoleSelectors") or (), "aggregationRule.clusterRoleSelectors"
    if not selectors:
        errors.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for n, selector in enumerate(selectors):
        validate_label_selector(errors, selector, f"{path}[{n}]")


def _validate_rule(errors: Errors, rule: JsonObject, path: str, *, namespaced: bool) -> None:
    if not rule.get("verbs"):
        errors.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        where = f"{path}.nonResourceURLs"
        if namespaced:
            errors.invalid(where, urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            errors.invalid(where, urls, "rules cannot apply to both regular resources and non-resource URLs")
        return
    if not rule.get("apiGroups"):
        errors.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        errors.required(f"{path}.resources", "resource rules must supply at least one resource")


def _default_binding(binding: JsonObject) -> None:
    reference = binding.setdefault("roleRef", {})
    reference["apiGroup"] = reference.get("apiGroup") or GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = subject.get("apiGroup") or GROUP


def _validate_binding(errors: Errors, binding: JsonObject, *, namespaced: bool) -> None:
    reference = binding.get("roleRef") or {}
    errors.unless_one_of("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    errors.unless_one_of("roleRef.kind", reference.get("kind", ""), kinds)
    validate_path_segment(errors, reference.get("name", ""), "roleRef.name")
    for n, subject in enumerate(binding.get("subjects") or ()):
        _validate_subject(errors, subject, f"subjects[{n}]", namespaced=namespaced)


def _validate_subject(errors: Errors, subject: JsonObject, path: str, *, namespaced: bool) -> None:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        errors.required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            errors.all_invalid(f"{path}.name", name, formats.dns1123_subdomain(name))
        if group:
            errors.unsupported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            errors.required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        errors.unless_one_of(f"{path}.apiGroup", group, (GROUP,))
    else:
        errors.unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


def _validate_binding_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    reference, before = (encode("RoleRef", obj.get("roleRef") or {}) for obj in (new, old))
    if reference != before:
        shown = {"APIGroup": reference["apiGroup"], "Kind": reference["kind"], "Name": reference["name"]}
        errors.invalid("roleRef", Raw(dumps(shown)), "cannot change roleRef")


def _rules(*, namespaced: bool) -> tuple[KindRules, KindRules]:
    """The rules of a role and of a binding."""
    role = KindRules(validate=partial(_validate_role, namespaced=namespaced), has_generation=False)
    binding = KindRules(
        _default_binding,
        validate=partial(_validate_binding, namespaced=namespaced),
        validate_update=_validate_binding_update,
        has_generation=False,
    )
    return role, binding


_ROLE, _BINDING = _rules(namespaced=True)
_CLUSTER_ROLE, _CLUSTER_BINDING = _rules(namespaced=False)
RULES: Mapping[str, KindRules] = {
    "Role": _ROLE,
    "RoleBinding": _BINDING,
    "ClusterRole": _CLUSTER_ROLE,
    "ClusterRoleBinding": _CLUSTER_BINDING,
}

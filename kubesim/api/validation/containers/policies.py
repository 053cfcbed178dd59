"""The policies of a container: image pulls, restarts, and restarts after a resize.

Mirrors: pkg/apis/core/validation validatePullPolicy, validateResizePolicy, validateContainerRestartPolicy
"""

from __future__ import annotations

from kubesim.api.validation.field import Errors, JsonObject, Named
from kubesim.api.validation.options import PodValidationOptions

_RULES_MAX = 20
_EXIT_CODES_MAX = 255


def validate_pull_policy(errors: Errors, policy: str, path: str) -> None:
    errors.unless_one_of(path, policy, ("Always", "IfNotPresent", "Never"))


def validate_resize_policy(errors: Errors, policies: list[JsonObject], path: str, pod_restart_policy: str) -> None:
    seen: set[str] = set()
    for n, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.duplicate(f"{path}[{n}]", Named(resource))
        seen.add(resource)
        if not resource:
            errors.required(path)
        else:
            errors.unless_one_of(path, resource, ("cpu", "memory"))
        if not restart:
            errors.required(path)
        else:
            errors.unless_one_of(path, restart, ("NotRequired", "RestartContainer"))
        if pod_restart_policy == "Never" and restart != "NotRequired":
            errors.invalid(path, Named(restart), "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def validate_restart_policy(errors: Errors, container: JsonObject, path: str, options: PodValidationOptions) -> None:
    """Validate the container's own restart policy and the rules for exceptions."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None:
        if not rules:
            return
        errors.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    else:
        errors.unless_one_of(f"{path}.restartPolicy", policy, ("Always", "Never", "OnFailure"))
    if len(rules) > _RULES_MAX:
        errors.too_many(f"{path}.restartPolicyRules", len(rules), _RULES_MAX)
    for n, rule in enumerate(rules):
        _validate_restart_rule(errors, rule, f"{path}.restartPolicyRules[{n}]", options)


def _validate_restart_rule(errors: Errors, rule: JsonObject, path: str, options: PodValidationOptions) -> None:
    actions = ["Restart"]
    if options.gates.enabled("RestartAllContainersOnContainerExits"):
        actions.append("RestartAllContainers")
    errors.unless_one_of(f"{path}.action", rule.get("action", ""), actions)
    exit_codes = rule.get("exitCodes")
    if exit_codes is None:
        errors.required(f"{path}.exitCodes", "must be specified")
        return
    errors.unless_one_of(f"{path}.exitCodes.operator", exit_codes.get("operator", ""), ("In", "NotIn"))
    count = len(exit_codes.get("values") or ())
    if count > _EXIT_CODES_MAX:
        errors.too_many(f"{path}.exitCodes.values", count, _EXIT_CODES_MAX)


def validate_init_restart_policy(
    errors: Errors, container: JsonObject, path: str, options: PodValidationOptions
) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None:
        if rules:
            errors.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif not options.gates.enabled("ContainerRestartRules"):
        errors.unless_one_of(f"{path}.restartPolicy", policy, ("Always",))
    elif policy == "Always" and not options.gates.enabled("RestartAllContainersOnContainerExits"):
        if rules:
            detail = "restartPolicyRules are not allowed for init containers with restart policy Always"
            errors.forbidden(f"{path}.restartPolicyRules", detail)
    else:
        validate_restart_policy(errors, container, path, options)

"""API errors with the API server's messages and details, and the Status object of a response.

Mirrors: apimachinery/pkg/api/errors errors.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.validation.field import CAUSES, FieldError
from kubesim.cluster.store.kinds import Resource
from kubesim.errors import ApiError
from kubesim.golang.text import aggregate

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def status_of(error: ApiError) -> dict[str, Any]:
    """The Status object of an error response."""
    metadata = {"continue": error.go_on} if error.go_on else {}
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
    body["message"] = error.message
    if error.reason:
        body["reason"] = error.reason
    if error.details is not None:
        body["details"] = error.details
    return body | {"code": error.code}


def _details(name: str, group: str, kind: str, **more: Any) -> dict[str, Any]:
    named = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in named.items() if value} | more


def unexpected(error: Exception) -> ApiError:
    """A 500 for an exception in this program."""
    problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return ApiError(500, "InternalError", f"Internal error occurred: {problem}", {"causes": [{"message": problem}]})


def not_found(resource: Resource, name: str) -> ApiError:
    message = f'{resource.group_resource} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(name, resource.group, resource.plural))


def already_exists(resource: Resource, name: str) -> ApiError:
    message = f'{resource.group_resource} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(name, resource.group, resource.plural))


def conflict(resource: Resource, name: str, problem: str, *, named: str = "") -> ApiError:
    """A 409 for a changed object. `named` replaces the plural of the resource in the message."""
    called = named or resource.plural
    full = f"{called}.{resource.group}" if resource.group else called
    message = f'Operation cannot be fulfilled on {full} "{name}": {problem}'
    return ApiError(409, "Conflict", message, _details(name, resource.group, called))


def precondition_failed(resource: Resource, namespace: str, name: str, wanted: str, found: str) -> ApiError:
    """A write named a uid, and the object of that name has another one."""
    key = "/".join(part for part in ("/registry", resource.plural, namespace, name) if part)
    return conflict(
        resource,
        name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
    )


def forbidden(resource: Resource, name: str, problem: str) -> ApiError:
    named = f'{resource.group_resource} "{name}"' if name else resource.group_resource
    message = f"{named} is forbidden: {problem}"
    return ApiError(403, "Forbidden", message, _details(name, resource.group, resource.plural))


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    full = f"{kind}.{group}" if group else kind
    causes = [{"reason": CAUSES[error.type], "message": error.body(), "field": error.field} for error in errors]
    message = f'{full} "{name}" is invalid: {aggregate(errors)}'
    return ApiError(422, "Invalid", message, _details(name, group, kind, causes=causes))


def invalid_object(resource: Resource, name: str, errors: Sequence[FieldError]) -> ApiError:
    return invalid("" if resource.kind == "Event" else resource.group, resource.kind_name, name, errors)


def invalid_options(kind: str, errors: Sequence[FieldError]) -> ApiError:
    """Invalid options in the query or the body: `DeleteOptions`, `ListOptions`, ..."""
    return invalid("meta.k8s.io", kind, "", errors)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def internal_error(message: str) -> ApiError:
    """An error without a reason in upstream: a 500."""
    return ApiError(500, "", message)


def too_many_requests(message: str, causes: Sequence[Mapping[str, str]], retry_after_s: int = 0) -> ApiError:
    details: dict[str, Any] = {"causes": list(causes)}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    return ApiError(429, "TooManyRequests", message, details)


def rejected() -> ApiError:
    """The error for any JSON patch that cannot be applied."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_large_version(wanted: int, current: int) -> ApiError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def unsupported_media_type() -> ApiError:
    return ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def unknown_format(known: Sequence[str]) -> ApiError:
    accepted = ", ".join(known)
    problem = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return ApiError(415, "UnsupportedMediaType", problem)


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def no_such_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether an error rejects creation because the namespace is terminating."""
    causes = (error.details or {}).get("causes")
    return isinstance(causes, list) and any(cause.get("reason") == "NamespaceTerminating" for cause in causes)

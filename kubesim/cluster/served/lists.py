"""List and watch requests: selectors, resource versions, pages.

Mirrors: apimachinery/pkg/apis/meta/internalversion/validation ValidateListOptions; apiserver/pkg/storage continue.go,
pkg/storage/cacher delegator (the resource version of a list)
"""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.validation.field import Errors
from kubesim.cluster.problems import bad_request, expired, internal_error, invalid_options, too_large_version
from kubesim.cluster.store.fields import check_fields
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.store.selectors import SelectorError, parse_field_selector, parse_label_selector
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import Selection
from kubesim.cluster.wire import shown_as
from kubesim.errors import ApiError
from kubesim.golang import json as gojson
from kubesim.values import value_object

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_TOKEN_VERSION = "meta.k8s.io/v1"


@value_object
class ListOptions:
    selection: Selection
    limit: int = 0
    token: str = ""
    version: str = ""
    version_match: str = ""
    watch: bool = False
    timeout_s: int | None = None
    bookmarks: bool = False
    send_initial_events: bool | None = None

    @property
    def has_selectors(self) -> bool:
        return bool(self.selection.labels or self.selection.fields)


def parse_list_options(resource: Resource, namespace: str | None, query: Mapping[str, str]) -> ListOptions:
    """Parse and validate the query of a list or a watch."""
    options = ListOptions(
        selection=_selection(resource, namespace, query),
        limit=max(0, parse_int(query.get("limit", "")) or 0),
        token=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        version_match=query.get("resourceVersionMatch", ""),
        watch=_flag(query, "watch") or False,
        timeout_s=parse_int(query.get("timeoutSeconds", "")),
        bookmarks=_flag(query, "allowWatchBookmarks") or False,
        send_initial_events=_flag(query, "sendInitialEvents"),
    )
    errors = Errors()
    if options.watch:
        _check_watch(errors, options)
    else:
        _check_list(errors, options)
    if errors:
        raise invalid_options("ListOptions", errors)
    return options


def _flag(query: Mapping[str, str], name: str) -> bool | None:
    """The value of a boolean query parameter: true unless it is `0` or `false`, also if it is empty."""
    return None if name not in query else query[name] != "0" and query[name].lower() != "false"


def parse_int(text: str) -> int | None:
    """Parse an integer query parameter."""
    if not text:
        return None
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def _selection(resource: Resource, namespace: str | None, query: Mapping[str, str]) -> Selection:
    try:
        labels = parse_label_selector(query.get("labelSelector", ""))
        fields = parse_field_selector(query.get("fieldSelector", ""))
        check_fields(resource, fields)
    except SelectorError as error:
        raise bad_request(str(error)) from None
    if namespace is None and resource.namespaced:  # equivalent to a list of one namespace
        namespace = next((t.value for t in fields.terms if t.field == "metadata.namespace" and t.equal), None)
    return Selection(namespace, labels if labels.requirements else None, fields if fields.terms else None)


def _check_list(errors: Errors, options: ListOptions) -> None:
    match = options.version_match
    if match:
        if not options.version:
            detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            errors.forbidden("resourceVersionMatch", detail)
        if options.token:
            errors.forbidden("resourceVersionMatch", _NOT_WITH_CONTINUE)
        errors.unless_one_of("resourceVersionMatch", match, ("Exact", "NotOlderThan"), ("Exact", "NotOlderThan", ""))
        if match == "Exact" and options.version == "0":
            detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            errors.forbidden("resourceVersionMatch", detail)
    if options.send_initial_events is not None:
        errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


_NOT_WITH_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"


def _check_watch(errors: Errors, options: ListOptions) -> None:
    match = options.version_match
    if options.send_initial_events is not None:
        if match != "NotOlderThan":
            detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            errors.forbidden("resourceVersionMatch", detail)
        if options.token:
            errors.forbidden("resourceVersionMatch", _NOT_WITH_CONTINUE)
    if match:
        if options.send_initial_events is None:
            detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.forbidden("resourceVersionMatch", detail)
        errors.unless_one_of("resourceVersionMatch", match, ("NotOlderThan",))
        if options.token:
            errors.forbidden("resourceVersionMatch", _NOT_WITH_CONTINUE)


def parse_version(text: str) -> int:
    """The resource version in the query of a read or a watch; 0 if it is empty."""
    if text and not text.isdigit():
        problem = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise internal_error(f'resourceVersion: Invalid value: "{text}": {problem}')
    if text and int(text) >= 1 << 64:
        problem = f'strconv.ParseUint: parsing "{text}": value out of range'
        raise internal_error(f'resourceVersion: Invalid value: "{text}": {problem}')
    return int(text or 0)


def check_reached(store: Store, version: int) -> None:
    """Reject a resource version in the future. Upstream waits for it first; the HTTP server does that."""
    if version > store.resource_version:
        raise too_large_version(version, store.resource_version)


def list_objects(store: Store, resource: Resource, options: ListOptions) -> dict[str, Any]:
    """The list as a response body."""
    try:
        version = parse_version(options.version)
    except ApiError as error:
        raise bad_request(f"invalid resource version: {error.message}") from None
    limit, start = options.limit, ""
    if options.token:
        if version:
            raise bad_request("specifying resource version is not allowed when using continue")
        version, start = _read_token(options.token)
        version = store.resource_version if version < 0 else version
        limit = 0 if options.version == "0" else limit
        objects = _objects_at(store, resource, options, version, _token_expired(start))
    else:
        check_reached(store, version)
        exact = options.version_match == "Exact" or (version and limit and not options.version_match)
        limit = 0 if options.version == "0" else limit
        version = version if exact else store.resource_version
        objects = _objects_at(store, resource, options, version, expired(_VERSION_EXPIRED))
    namespace = options.selection.namespace
    rest = [obj for obj in objects if _key(obj, namespace) >= start] if start else objects
    page, after = _page(rest, limit, options)
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if after:
        metadata["continue"] = _token(version, _key(page[-1], namespace))
        if not options.has_selectors:
            metadata["remainingItemCount"] = after
    return {
        "kind": f"{resource.kind_name}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": [shown_as(resource, obj, in_list=True) for obj in page],
    }


def _page(objects: list[ApiObject], limit: int, options: ListOptions) -> tuple[list[ApiObject], int]:
    """The selected objects up to the limit, and the number of remaining objects. Remaining objects are not checked
    against the selectors.
    """
    page: list[ApiObject] = []
    for n, obj in enumerate(objects):
        if options.selection.matches(obj):
            page.append(obj)
        if limit and len(page) == limit:
            return page, len(objects) - n - 1
    return page, 0


_VERSION_EXPIRED = "The resourceVersion for the provided list is too old."
_TOKEN_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def _objects_at(
    store: Store, resource: Resource, options: ListOptions, version: int, too_old: ApiError
) -> list[ApiObject]:  # fmt: skip
    if version == store.resource_version:
        return store.list(resource.kind, options.selection.namespace)
    try:
        return store.list_at(resource.kind, version, Selection(options.selection.namespace))
    except ApiError:
        raise too_old from None


def _key(obj: ApiObject, namespace: str | None) -> str:
    """The path of an object below the listed collection."""
    metadata = obj.metadata
    return f"/{metadata.name}" if namespace is not None or not metadata.namespace else (
        f"/{metadata.namespace}/{metadata.name}"
    )  # fmt: skip


def _token(version: int, last: str) -> str:
    text = json.dumps({"v": _TOKEN_VERSION, "rv": version, "start": f"{last}\0"}, separators=(",", ":"))
    return _base64(text)


def _base64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    """The resource version of the first page, and the key where the next page starts."""
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode(errors="surrogateescape")
        value = gojson.loads(text)
    except gojson.JsonSyntaxError as error:
        raise _bad_token(f"continue key is not valid: {error}") from None
    except (binascii.Error, ValueError):
        raise _bad_token("continue key is not valid: illegal base64 data at input byte 0") from None
    if not isinstance(value, dict):
        raise _bad_token(
            "continue key is not valid: json: cannot unmarshal into Go value of type storage.continueToken"
        )
    version, number, start = value.get("v", ""), value.get("rv", "0"), value.get("start", "")
    if version != _TOKEN_VERSION:
        raise _bad_token(f"continue key is not valid: server does not recognize this encoded version {version}")
    if not isinstance(number, gojson.Number) or not _INTEGER.fullmatch(number) or not isinstance(start, str):
        raise _bad_token(
            "continue key is not valid: json: cannot unmarshal into Go value of type storage.continueToken"
        )
    if int(number) == 0:
        problem = "incorrect encoded start resourceVersion"
        raise _bad_token(f"continue key is not valid: {problem} (version meta.k8s.io/v1)")
    if not start:
        raise _bad_token("continue key is not valid: empty encoded start key (version meta.k8s.io/v1)")
    key = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(key) != key:
        raise _bad_token(f"continue key is not valid: {start}")
    return int(number), key


def _bad_token(problem: str) -> ApiError:
    return bad_request(f"invalid continue token: {problem}")


def _token_expired(start: str) -> ApiError:
    """410 Expired, with a token that continues the list at the latest resource version."""
    text = json.dumps({"v": _TOKEN_VERSION, "rv": -1, "start": start.removeprefix("/")}, separators=(",", ":"))
    error = expired(_TOKEN_EXPIRED)
    return ApiError(error.code, error.reason, error.message, error.details, go_on=_base64(text))

"""The API over HTTP, without the HTTP: a request in, a response out.

`handle` is a pure function of the store and the request. An open watch is a `WatchStream` that the client that
serves it reads
from. Not here: Tables, server-side apply and OpenAPI.

Mirrors: apiserver/pkg/endpoints installer.go, handlers create.go, get.go, update.go, patch.go, delete.go, watch.go
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kubesim.api.meta import ApiObject
from kubesim.api.schema.codec import DecodeError, decode
from kubesim.api.validation.field import Errors, FieldError, JsonObject, Raw
from kubesim.cluster.problems import bad_request, invalid_options, status_of
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.deletion import DeleteOptions, check_delete_options
from kubesim.cluster.registry.registry import STRATEGIC_MERGE_PATCH, Target
from kubesim.cluster.registry.subresources.binding import bind
from kubesim.cluster.registry.subresources.eviction import evict
from kubesim.cluster.served.discovery import discover
from kubesim.cluster.served.lists import (
    ListOptions,
    check_reached,
    list_objects,
    parse_int,
    parse_list_options,
    parse_version,
)
from kubesim.cluster.served.negotiation import MEDIA_TYPES, WHOLE, Form, negotiate
from kubesim.cluster.served.routes import BINDINGS, ApiRoute, NotOurs, route
from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import Watch, WatchEvent
from kubesim.cluster.wire import object_to_json, unknown_fields
from kubesim.errors import ApiError
from kubesim.golang import json as gojson
from kubesim.golang.text import quoted
from kubesim.golang.yaml import yaml_to_json
from kubesim.values import replace, value_object

_META_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions", "DELETE": "DeleteOptions"}


@value_object
class Request:
    """Header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


@value_object
class Response:
    """Either a JSON body, or plain text, or a stream of watch events."""

    status: int
    body: JsonObject | None = None
    text: str = ""
    warnings: tuple[str, ...] = ()
    stream: WatchStream | None = None


def handle(store: Store, request: Request) -> Response:
    """Answer one request."""
    try:
        url = urlsplit(request.path)
        known = discover(url.path, request.headers.get("host", "")) if request.method == "GET" else None
        if known is not None:
            return Response(200, text=known) if isinstance(known, str) else Response(200, known)
        query = dict(reversed(parse_qsl(url.query, keep_blank_values=True)))  # of several values the first counts
        found = route(request.method, url.path)
        form = negotiate(request.headers.get("accept", ""), watching="watch" in query)
        return _answer(store, _Call(request, query, found, form))
    except NotOurs:
        return Response(404, text="404 page not found\n")
    except ApiError as error:
        return Response(error.code, status_of(error))


@value_object
class _Call:
    request: Request
    query: Mapping[str, str]
    route: ApiRoute
    form: Form

    @property
    def target(self) -> Target:
        return self.route.target

    @property
    def resource(self) -> Resource:
        return self.route.target.resource

    def view(self, obj: ApiObject) -> JsonObject:
        return self.form.of_item(self.resource, object_to_json(obj))


def _answer(store: Store, call: _Call) -> Response:
    target = call.target
    dry_run = _dry_run(call)
    match call.request.method:
        case "GET" if target.name:
            return _get(store, call)
        case "GET":
            return _list_or_watch(store, call)
        case "POST" if target.resource is BINDINGS or target.subresource:
            return _post_subresource(store, call, dry_run)
        case "POST":
            body, warnings = _body(call)
            return Response(201, call.view(registry.create(store, target, body, dry_run=dry_run)), warnings=warnings)
        case "PUT":
            body, warnings = _body(call)
            obj, created = registry.update(store, target, body, dry_run=dry_run)
            return Response(201 if created else 200, call.view(obj), warnings=warnings)
        case "PATCH":
            return _patch(store, call, dry_run)
        case _:
            return _delete(store, call)


# -- reading --------------------------------------------------------------------------------------------------------


def _get(store: Store, call: _Call) -> Response:
    check_reached(store, parse_version(call.query.get("resourceVersion", "")))
    return Response(200, call.view(store.get(call.resource.kind, call.target.namespace, call.target.name)))


def _list_or_watch(store: Store, call: _Call) -> Response:
    query = {**call.query, "watch": "true"} if call.route.watch else call.query
    options = parse_list_options(call.resource, call.route.namespace, query)
    if options.watch:
        return Response(200, stream=WatchStream(store, call.resource, options, call.form))
    return Response(200, call.form.of_list(call.resource, list_objects(store, call.resource, options)))


class WatchStream:
    """The lines of one watch. A version that is too old, or in the future, gives one line of error and the end."""

    def __init__(self, store: Store, resource: Resource, options: ListOptions, form: Form = WHOLE) -> None:
        self.options = options
        self._store = store
        self._form = form
        self._error: JsonObject | None = None
        version = parse_version(options.version)
        self._start = version or store.resource_version
        try:
            self.watch = self._open(resource, version)
        except ApiError as error:
            self._error = {"type": "ERROR", "object": status_of(error)}
            self.watch = Watch(resource.kind, options.selection, 0)
            self.watch.close()

    def _open(self, resource: Resource, version: int) -> Watch:
        options, store = self.options, self._store
        if options.send_initial_events is None:
            return store.open_watch(resource.kind, options.selection, version)
        check_reached(store, version)
        if not options.send_initial_events:
            return store.open_watch(resource.kind, options.selection, version or store.resource_version)
        watch = store.open_watch(resource.kind, options.selection)
        if options.bookmarks:
            watch.bookmark(store.resource_version, initial_events_end=True)
        return watch

    @property
    def closed(self) -> bool:
        return self.watch.closed

    @property
    def over(self) -> bool:
        """Closed, and everything was read."""
        return self.closed and self._error is None and not self.watch.statistics()["events"]

    @property
    def refusal(self) -> JsonObject | None:
        """The Status that is all there is to read."""
        return None if self._error is None else self._error["object"]

    def bookmark(self) -> None:
        """The server of the stream decides when it is due. None if no bookmark was requested, or if there is "
        "nothing new."""
        if self.options.bookmarks and not self.closed and self._store.resource_version > self._start:
            self.watch.bookmark(self._store.resource_version)

    def lines(self) -> list[JsonObject]:
        """What has happened since the last time."""
        lines = [] if self._error is None else [self._error]
        self._error = None
        events = self.watch.drain()
        if events and not self._form.fits_events:
            self.close()
            return lines
        return lines + [self.line(event) for event in events]

    def line(self, event: WatchEvent) -> JsonObject:
        return {"type": event.type, "object": self._form.of_event(object_to_json(event.object))}

    def close(self) -> None:
        self.watch.close()


# -- writing --------------------------------------------------------------------------------------------------------


def _post_subresource(store: Store, call: _Call, dry_run: bool) -> Response:
    target = call.target
    if target.subresource == "eviction":
        body = _read_as("Eviction", call.request)
        options = _delete_options_of(body.get("deleteOptions") or {})
        evict(store, target, body, replace(options, dry_run=options.dry_run or dry_run))
    else:
        body = _read_as("Binding", call.request)
        if target.resource is BINDINGS:
            name = (body.get("metadata") or {}).get("name", "")
            target = Target(RESOURCES["Pod"], target.namespace, name)
        bind(store, target, body, dry_run=dry_run)
    return Response(201, _success() | {"code": 201})


def _read_as(kind: str, request: Request) -> JsonObject:
    try:
        body: JsonObject = decode(kind, _parse(request, kind))
        return body
    except DecodeError as error:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None


def _success() -> JsonObject:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def _patch(store: Store, call: _Call, dry_run: bool) -> Response:
    content_type = _media_type(call.request.headers.get("content-type", ""))
    body: Any = None
    if content_type in (registry.MERGE_PATCH, registry.JSON_PATCH, STRATEGIC_MERGE_PATCH):
        store.get(call.resource.kind, call.target.namespace, call.target.name)
        try:
            gojson.loads(call.request.body)
        except gojson.JsonSyntaxError as error:
            raise bad_request(f"error decoding patch: {error}") from None
        body = json.loads(call.request.body)
    strict = _field_validation(call) == "Strict"
    obj, unknown = registry.patch(store, call.target, content_type, body, dry_run=dry_run, strict=strict)
    return Response(200, call.view(obj), warnings=_warnings(call, unknown))


def _warnings(call: _Call, unknown: list[str]) -> tuple[str, ...]:
    if _field_validation(call) == "Ignore":
        return ()
    return tuple(f"299 - {quoted(f'unknown field {quoted(path)}')}" for path in unknown)


def _field_validation(call: _Call) -> str:
    value = call.query.get("fieldValidation", "")
    if value not in _FIELD_VALIDATIONS:
        errors = Errors()
        errors.unsupported("fieldValidation", value, _FIELD_VALIDATIONS)
        raise invalid_options(_OPTIONS[call.request.method], errors)
    return value or "Warn"


def _dry_run(call: _Call) -> bool:
    values = [call.query["dryRun"]] if "dryRun" in call.query else []
    if values and call.request.method in _OPTIONS and values != ["All"]:
        errors = Errors([FieldError("Unsupported value", "dryRun", Raw(json.dumps(values)), 'supported values: "All"')])
        raise invalid_options(_OPTIONS[call.request.method], errors)
    return values == ["All"]


def _body(call: _Call) -> tuple[JsonObject, tuple[str, ...]]:
    """The object that is sent, and what is to be said about its fields."""
    body = _parse(call.request, call.resource.kind)
    unknown = list(unknown_fields(call.resource.kind, body)) if body.get("kind") in (None, call.resource.kind) else []
    if unknown and _field_validation(call) == "Strict":
        kind = call.resource.kind
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {registry.strict_error(unknown)}')
    return body, _warnings(call, unknown)


def _parse(request: Request, kind: str) -> JsonObject:
    """Numbers keep their original text."""
    media_type = _media_type(request.headers.get("content-type", ""))
    if media_type not in ("", "application/json", "application/yaml"):
        raise ApiError(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(MEDIA_TYPES),
        )
    text = request.body
    try:
        value = yaml_to_json(text) if media_type == "application/yaml" else gojson.loads(text)
    except ValueError as error:
        shown = f"{text[:30]} ..." if len(text) > 30 else text or "<empty>"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {_NO_KIND}: {error} ({shown})"
        ) from None
    problem = _unreadable(value)
    if problem:
        unrecognized = f"the object provided is unrecognized (must be of type {kind}): {_NO_KIND}"
        raise bad_request(f"{unrecognized}: {problem} ({text.encode().hex()})")
    return value or {}


_NO_KIND = "couldn't get version/kind; json parse error"


def _unreadable(value: Any) -> str:
    """Why a JSON value cannot be any object: one has a kind and a version, both text."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return (
            f"json: cannot unmarshal {_json_kind(value)} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    for name in ("apiVersion", "kind"):
        found = _json_kind(value.get(name))
        if found not in ("null", "string"):
            return f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
    return ""


def _json_kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case gojson.Number():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


# -- deleting -------------------------------------------------------------------------------------------------------


def _delete(store: Store, call: _Call) -> Response:
    options = _delete_options(call)
    target = call.target
    if not target.name:
        return _delete_collection(store, call, options)
    obj, gone = registry.delete(store, target, options)
    if call.resource.returns_deleted or not (gone or options.dry_run):
        accepted = not gone and options.orphan_dependents is False
        return Response(202 if accepted else 200, call.view(obj))
    details = {"name": target.name, "group": call.resource.group, "kind": call.resource.plural}
    details = {key: value for key, value in details.items() if value} | {"uid": obj.metadata.uid}
    return Response(200, _success() | {"details": details})


def _delete_collection(store: Store, call: _Call, options: DeleteOptions) -> Response:
    """Each of the selected objects; the answer is the list as it stood before."""
    check_delete_options(options)
    list_options = parse_list_options(call.resource, call.route.namespace, call.query)
    body = list_objects(store, call.resource, list_options)
    for obj in store.list(call.resource.kind, call.route.namespace, list_options.selection):
        store.delete_with(obj, options)
    return Response(200, call.form.of_list(call.resource, body))


def _delete_options(call: _Call) -> DeleteOptions:
    """From the body, or if there is none from the query."""
    if call.request.body:
        try:
            value = gojson.loads(call.request.body)
        except gojson.JsonSyntaxError as error:
            raise bad_request(f"{_NO_KIND}: {error}") from None
        problem = _unreadable(value)
        if problem:
            raise bad_request(f"{_NO_KIND}: {problem}")
        value = value or {}
        kind, version = value.get("kind") or "", value.get("apiVersion") or ""
        if kind not in ("", "DeleteOptions"):
            raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{_META_SCHEME}"')
        if value:
            return _read_delete_options(value)
    query: JsonObject = {}
    grace = parse_int(call.query.get("gracePeriodSeconds", ""))
    if grace is not None:
        query["gracePeriodSeconds"] = grace
    if "orphanDependents" in call.query:
        query["orphanDependents"] = call.query["orphanDependents"] == "true"
    if "propagationPolicy" in call.query:
        query["propagationPolicy"] = call.query["propagationPolicy"]
    if _dry_run(call):
        query["dryRun"] = ["All"]
    return _read_delete_options(query)


def _read_delete_options(value: JsonObject) -> DeleteOptions:
    try:
        options = decode("DeleteOptions", value)
    except DecodeError as error:
        raise bad_request(str(error)) from None
    return _delete_options_of(options)


def _delete_options_of(options: JsonObject) -> DeleteOptions:
    preconditions = options.get("preconditions") or {}
    return DeleteOptions(
        grace_s=options.get("gracePeriodSeconds"),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        orphan_dependents=options.get("orphanDependents"),
        propagation_policy=options.get("propagationPolicy"),
        dry_run=bool(options.get("dryRun")),
    )

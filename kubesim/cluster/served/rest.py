"""The API server's REST handlers without HTTP: a request in, a response out.

`handle` depends only on the store and the request. An open watch is a `WatchStream` that the HTTP server reads.

Mirrors: apiserver/pkg/endpoints installer.go, handlers create.go, get.go, update.go, patch.go, delete.go, watch.go
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubesim.api.meta import ApiObject
from kubesim.api.schema.codec import DecodeError, decode
from kubesim.api.timestamps import format_time
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.kubectl.yaml_writer import to_yaml
from kubesim.cluster.managed.tracking import track_create, writer
from kubesim.cluster.patches.json_patch import PatchError, json_patch, merge_patch
from kubesim.cluster.problems import bad_request, rejected, status_of, unknown_format, unsupported_media_type
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.bodies.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from kubesim.cluster.registry.bodies.reading import read_body, wrong_kind
from kubesim.cluster.registry.deletion import DeleteOptions, check_delete_options
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources.binding import bind
from kubesim.cluster.registry.subresources.eviction import evict
from kubesim.cluster.served.access import ApiUser, RoleAccess, attributes_of, impersonated, refusal
from kubesim.cluster.served.answers import reviews
from kubesim.cluster.served.answers.kubelet_requests import CONNECTED, refuse
from kubesim.cluster.served.answers.scales import scale_of, write_scale
from kubesim.cluster.served.answers.tokens import request_token
from kubesim.cluster.served.documents.documents import ServedDocument, document_of
from kubesim.cluster.served.lists import check_reached, list_objects, parse_list_options, parse_version
from kubesim.cluster.served.negotiation import (
    PROTOBUF,
    YAML,
    Form,
    negotiate,
    not_acceptable,
    prefers_yaml,
    takes_only_protobuf,
)
from kubesim.cluster.served.requests.bodies import Body, duplicates, json_kind, parse
from kubesim.cluster.served.requests.deletions import delete_options, options_of
from kubesim.cluster.served.requests.duplicates import json_duplicates, yaml_duplicates
from kubesim.cluster.served.requests.options import APPLY_PATCH, WriteOptions, write_options
from kubesim.cluster.served.requests.protobuf import in_protobuf
from kubesim.cluster.served.routes import BINDINGS, ApiRoute, UnknownPath, route
from kubesim.cluster.served.watch_stream import WatchStream
from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.cluster.store.store import Store
from kubesim.cluster.wire import encoded_kind, shown_as, unknown_in
from kubesim.errors import ApiError
from kubesim.golang import json as gojson
from kubesim.golang.text import quoted
from kubesim.golang.yaml import yaml_to_json
from kubesim.values import replace, value_object

__all__ = ["Request", "Response", "WatchStream", "handle"]

_PATCHES = (MERGE_PATCH, JSON_PATCH, STRATEGIC_MERGE_PATCH)


@value_object
class Request:
    """A request. Header names are lower case. `raw` is the body as bytes; if empty, `text` is the whole body."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    raw: bytes = b""
    user: ApiUser = ApiUser()


@value_object
class Response:
    """A response: a JSON body, plain text, or a stream of watch events. `headers` override the default ones."""

    status: int
    body: JsonObject | None = None
    text: str = ""
    warnings: tuple[str, ...] = ()
    stream: WatchStream | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""  # instead of `text`


def handle(store: Store, request: Request, access: RoleAccess | None = None) -> Response:
    """Answer one request. Without `access`, every request is allowed."""
    try:
        return _encoded(request, _handle(store, request, access))
    except RecursionError:
        return Response(400, status_of(bad_request("exceeded max depth")))
    except UnknownPath:
        return Response(404, text="404 page not found\n")
    except ApiError as error:
        return _encoded(request, Response(error.code, status_of(error)))


def _handle(store: Store, request: Request, access: RoleAccess | None) -> Response:
    url = urlsplit(request.path)
    query = parse_qs(url.query, keep_blank_values=True)
    user = impersonated(request.user, request.headers)
    if access is not None:
        asked = attributes_of(request.method, url.path, query)
        if not access.allows(user, asked):
            raise refusal(user, asked)
    if request.method == "GET":
        document = document_of(store, url.path, query, request.headers)
        if document is not None:
            return _of_document(document)
    found = route(request.method, url.path, store)
    included = query.get("includeObject", [""])[0]
    accept, listed = request.headers.get("accept", ""), request.method == "GET" and not found.target.name
    form = negotiate(accept, watching=listed and "watch" in query, watchable=listed, included=included)
    if form.media_type == PROTOBUF and _only_text(found.target.resource):
        raise not_acceptable("only the following media types are accepted: application/json, application/yaml")
    return _answer(store, _Call(request, query, found, form, store.now(), user, access))


def _of_document(document: ServedDocument) -> Response:
    return Response(document.status, document.body, document.text, headers=document.headers, raw=document.raw)


def _encoded(request: Request, response: Response) -> Response:
    """The response as YAML or protobuf, if the client wants that. JSON is encoded by the HTTP server."""
    accept, body = request.headers.get("accept", ""), response.body
    if body is None or response.headers:
        return response
    if YAML in accept and prefers_yaml(accept):
        return replace(response, body=None, text=to_yaml(body), headers={"Content-Type": YAML})
    if takes_only_protobuf(accept):
        from kubesim.cluster.served.answers.protobuf import encode_object, has_encoding  # few clients need it

        if has_encoding(body):
            return replace(response, body=None, raw=encode_object(body), headers={"Content-Type": PROTOBUF})
    return response


@value_object
class _Call:
    request: Request
    query: Mapping[str, list[str]]
    route: ApiRoute
    form: Form
    now: int
    user: ApiUser
    access: RoleAccess | None

    @property
    def target(self) -> Target:
        return self.route.target

    @property
    def resource(self) -> Resource:
        return self.route.target.resource

    @property
    def body(self) -> Body:
        request = self.request
        return Body(request.body, request.raw, request.headers.get("content-type", ""))

    @property
    def options(self) -> WriteOptions:
        agent = self.request.headers.get("user-agent", "")
        return write_options(self.request.method, self.query, self.body.media_type, agent)

    @property
    def flat_query(self) -> dict[str, str]:
        """The query with the first value of each parameter."""
        return {name: values[0] for name, values in self.query.items()}

    def view(self, obj: ApiObject) -> JsonObject:
        return self.form.of_item(self.resource, shown_as(self.resource, obj), self.now)


def _answer(store: Store, call: _Call) -> Response:
    target = call.target
    match call.request.method:
        case _ if target.subresource in CONNECTED:
            refused = refuse(store, target, call.query, call.request.headers)
            if refused is not None:
                raise refused
            return Response(204, headers={"Content-Type": ""})
        case _ if target.subresource == "scale":
            return _scale(store, call)
        case "POST" if call.resource.kind in reviews.KINDS:
            return _review(store, call)
        case "GET" if target.name:
            return _get(store, call)
        case "GET":
            return _list_or_watch(store, call)
        case "POST" if target.resource is BINDINGS or target.subresource:
            return _post_subresource(store, call)
        case "POST":
            options = call.options
            body, warnings = _read(call, options)
            heard: list[str] = []
            obj = registry.create(
                store, target, body, dry_run=options.dry_run, manager=options.manager, warn=heard.append
            )
            return Response(201, call.view(obj), warnings=(*warnings, *map(_warning, heard)))
        case "PUT":
            options = call.options
            body, warnings = _read(call, options)
            obj, created = registry.update(store, target, body, dry_run=options.dry_run, manager=options.manager)
            return Response(201 if created else 200, call.view(obj), warnings=warnings)
        case "PATCH":
            return _patch(store, call)
        case _:
            return _delete(store, call)


# -- reading --------------------------------------------------------------------------------------------------------


def _get(store: Store, call: _Call) -> Response:
    check_reached(store, parse_version(call.flat_query.get("resourceVersion", "")))
    return Response(200, call.view(store.get(call.resource.kind, call.target.namespace, call.target.name)))


def _list_or_watch(store: Store, call: _Call) -> Response:
    query = call.flat_query | ({"watch": "true"} if call.route.watch else {})
    options = parse_list_options(call.resource, call.route.namespace, query)
    if options.watch:
        return Response(200, stream=WatchStream(store, call.resource, options, call.form))
    return Response(200, call.form.of_list(call.resource, list_objects(store, call.resource, options), call.now))


# -- writing --------------------------------------------------------------------------------------------------------


def _post_subresource(store: Store, call: _Call) -> Response:
    target, dry_run = call.target, call.options.dry_run
    if target.subresource == "token":
        account = store.get(target.resource.kind, target.namespace, target.name)
        token = request_token(store, account, _read_as("TokenRequest", call, "AccountTokenRequest"))
        return Response(201, encoded_kind("AccountTokenRequest", token))
    if target.subresource == "eviction":
        body = _read_as("Eviction", call)
        options = options_of(body.get("deleteOptions") or {})
        evict(store, target, body, replace(options, dry_run=options.dry_run or dry_run))
    else:
        body = _read_as("Binding", call)
        if target.resource is BINDINGS:
            name = (body.get("metadata") or {}).get("name", "")
            target = Target(RESOURCES["Pod"], target.namespace, name)
        bind(store, target, body, dry_run=dry_run)
    return Response(201, _success() | {"code": 201})


def _review(store: Store, call: _Call) -> Response:
    """Answer a review, which is not stored."""
    options, resource = call.options, call.resource
    body, warnings = _read(call, options)
    obj = read_body(resource, body)
    now = format_time(call.now)
    track_create(writer(resource, "", options.manager, now), resource, obj)
    answer = reviews.answered(store, resource.kind, obj, call.user, call.access, now)
    return Response(201, encoded_kind(resource.kind, answer), warnings=warnings)


def _scale(store: Store, call: _Call) -> Response:
    target, method = call.target, call.request.method
    current = store.get(target.resource.kind, target.namespace, target.name)
    scale = scale_of(target.resource, current)
    if method == "GET":
        return Response(200, encoded_kind("Scale", scale))
    options = call.options
    if method == "PUT":
        new = _read_as("Scale", call)
    else:
        new = _patched_scale(call, scale)
    obj = write_scale(store, target, new, options.manager, dry_run=options.dry_run)
    return Response(200, encoded_kind("Scale", scale_of(target.resource, obj)))


def _patched_scale(call: _Call, scale: JsonObject) -> JsonObject:
    patch: Any = json.loads(_patch_text(call))
    if isinstance(patch, list) and not all(isinstance(operation, dict) for operation in patch):
        raise bad_request("error decoding patch: an operation is no object")
    try:
        found = json_patch(scale, patch) if isinstance(patch, list) else merge_patch(scale, patch)
        new: JsonObject = decode("Scale", found)
    except PatchError:
        raise rejected() from None
    except DecodeError as error:
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}') from None
    return new


def _read_as(kind: str, call: _Call, type_name: str = "") -> JsonObject:
    sent = parse(call.body, kind)
    named, version = sent.get("kind") or kind, sent.get("apiVersion") or "v1"
    if named != kind:
        wrong = wrong_kind(Resource(kind, ""), named, version)
        short = version.rpartition("/")[2]
        raise bad_request(f'{named} in version "{short}" cannot be handled as a {kind}: {wrong}')
    try:
        body: JsonObject = decode(type_name or kind, sent)
        return body
    except DecodeError as error:
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from None


def _success() -> JsonObject:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def _read(call: _Call, options: WriteOptions) -> tuple[JsonObject, tuple[str, ...]]:
    """The object in the body, and the warnings about its fields."""
    resource = call.resource
    custom = bool(resource.custom_kind)
    body = parse(call.body, resource.kind_name, only_text=_only_text(resource), needs_kind=custom)
    if options.field_validation == "Ignore" or body.get("kind") not in (None, "", resource.kind_name):
        return body, ()
    unknown = [f'unknown field "{path}"' for path in unknown_in(resource, body)]
    strange = [each if ":" in each else f'duplicate field "{each}"' for each in duplicates(call.body)] + unknown
    if strange and options.is_strict:
        kind = resource.kind_name
        version = resource.version
        problem = ", ".join(strange)
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: {problem}'
        )
    return body, _warnings(options, strange)


def _only_text(resource: Resource) -> bool:
    return bool(resource.custom_kind) or not in_protobuf(resource.api_version, resource.kind_name)


def _warnings(options: WriteOptions, texts: list[str]) -> tuple[str, ...]:
    return tuple(map(_warning, texts)) if options.warns else ()


def _warning(text: str) -> str:
    return f"299 - {quoted(text)}"


def _patch(store: Store, call: _Call) -> Response:
    content_type, target = call.body.media_type, call.target
    if content_type not in (*_PATCHES, APPLY_PATCH):
        raise unsupported_media_type()
    if content_type == STRATEGIC_MERGE_PATCH and call.resource.custom_kind:
        raise unknown_format((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    options = call.options
    if content_type == APPLY_PATCH:
        return _apply(store, call, options)
    store.get(call.resource.kind, target.namespace, target.name)
    body: Any = json.loads(_patch_text(call))
    repeated = () if content_type == JSON_PATCH else json_duplicates(call.request.body)
    written = registry.patch(
        store,
        target,
        content_type,
        body,
        dry_run=options.dry_run,
        strict=options.is_strict,
        manager=options.manager,
        repeated=repeated,
    )
    obj, unknown = written
    strange = [f'duplicate field "{path}"' for path in repeated]
    strange += [f'unknown field "{path}"' for path in unknown]
    return Response(200, call.view(obj), warnings=_warnings(options, strange))


def _patch_text(call: _Call) -> str:
    try:
        gojson.loads(call.request.body)
    except gojson.JsonSyntaxError as error:
        raise bad_request(_undecodable(call, str(error))) from None
    return call.request.body


def _undecodable(call: _Call, problem: str) -> str:
    """The error of a body that is not a patch. Strategic merge patches lack the usual prefix."""
    return problem if call.body.media_type == STRATEGIC_MERGE_PATCH else f"error decoding patch: {problem}"


def _apply(store: Store, call: _Call, options: WriteOptions) -> Response:
    """Server-side apply."""
    try:
        config = yaml_to_json(call.request.body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if not isinstance(config, dict | None):
        problem = f"json: cannot unmarshal {json_kind(config)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {problem}")
    strange = [] if options.field_validation == "Ignore" else yaml_duplicates(call.request.body)
    if strange and options.is_strict:
        raise bad_request(f"error strict decoding YAML: error converting YAML to JSON: {strange[0]}")
    plain = json.loads(gojson.dumps(config or {}))
    obj, created = registry.apply(
        store, call.target, plain, options.manager, force=options.force, dry_run=options.dry_run
    )
    warned = [f"error converting YAML to JSON: {each}" for each in strange]
    return Response(201 if created else 200, call.view(obj), warnings=_warnings(options, warned))


# -- deleting -------------------------------------------------------------------------------------------------------


def _delete(store: Store, call: _Call) -> Response:
    options = delete_options(call.body, call.query)
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
    """Delete each selected object. Returns the list from before the deletion."""
    check_delete_options(options)
    list_options = parse_list_options(call.resource, call.route.namespace, call.flat_query)
    body = list_objects(store, call.resource, list_options)
    for obj in store.list(call.resource.kind, call.route.namespace, list_options.selection):
        store.delete_with(obj, options)
    return Response(200, call.form.of_list(call.resource, body, call.now))

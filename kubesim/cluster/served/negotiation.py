"""Content negotiation: an object as it is, only its metadata, or a Table; as JSON or YAML.

The `Accept` header lists media types with weights. The first one that this server supports is used. A client that
prefers protobuf gets JSON if it accepts that, too, because it is faster here.

Mirrors: apiserver/pkg/endpoints/handlers negotiation/negotiate.go, rest.go AllowsMediaTypeTransform, response.go
asPartialObjectMetadata, asPartialObjectMetadataList, asTable; munnerz/goautoneg ParseAccept
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.cluster.problems import bad_request
from kubesim.cluster.served.table_views import metadata_of, table_of_items
from kubesim.cluster.store.kinds import Resource
from kubesim.errors import ApiError
from kubesim.values import value_object

JSON, YAML, PROTOBUF = MEDIA_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_STREAMS = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_META_GROUP, _META_VERSIONS = "meta.k8s.io", ("v1", "v1beta1")
_ITEM, _LIST, _TABLE = "PartialObjectMetadata", "PartialObjectMetadataList", "Table"
_INCLUDED = ("", "Metadata", "Object", "None")


@value_object
class Form:
    """The form of a response: `kind` is the type to convert an object to (empty: none), `included` the object in a
    Table row.
    """

    kind: str = ""
    version: str = "v1"
    media_type: str = JSON
    included: str = ""

    def of_item(self, resource: Resource, body: dict[str, Any], now: int) -> dict[str, Any]:
        """Convert one object."""
        if self.kind == _LIST:
            raise _not_representable(f"{_LIST}, but the requested object is not a list", resource, "")
        if self.kind == _TABLE:
            metadata = {"resourceVersion": body["metadata"].get("resourceVersion", "")}
            return self._table(resource, [body], metadata, now)
        return self._metadata(body) if self.kind else body

    def of_list(self, resource: Resource, body: dict[str, Any], now: int) -> dict[str, Any]:
        if not self.kind:
            return body
        if self.kind == _ITEM:
            raise _not_representable(f"{_ITEM}, but the requested object is a list", resource, "List")
        if self.kind == _TABLE:
            return self._table(resource, body["items"], body["metadata"], now)
        # Go encodes a nil slice as null.
        items = [self._metadata(item) for item in body["items"]] or None
        return {**body, "kind": _LIST, "apiVersion": self._api_version, "items": items}

    @property
    def fits_events(self) -> bool:
        """Whether watch events can be encoded in this form. If not, the watch opens and ends at the first event."""
        return self.kind != _LIST

    def of_event(self, resource: Resource, body: dict[str, Any], now: int, *, first: bool) -> dict[str, Any]:
        """Convert the object of a watch event. Only the first Table of a watch has columns."""
        if self.kind == _TABLE:
            table = self.of_item(resource, body, now)
            return table if first else {**table, "columnDefinitions": None}
        return self._metadata(body) if self.kind else body

    def _table(self, resource: Resource, items: list[dict[str, Any]], metadata: Any, now: int) -> dict[str, Any]:
        if self.included not in _INCLUDED:
            problem = (
                f"includeObject: Invalid value: \"{self.included}\": must be 'Metadata', 'Object', 'None', or empty"
            )
            raise bad_request(f"Unable to convert to Table as requested: {problem}")
        return table_of_items(resource, items, metadata, now, self.included, self._api_version)

    @property
    def _api_version(self) -> str:
        return f"{_META_GROUP}/{self.version}"

    def _metadata(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return metadata_of(body, self._api_version)


WHOLE = Form()


def negotiate(accept: str, *, watching: bool = False, watchable: bool = False, included: str = "") -> Form:
    """The form of the response; raises 406 if the client accepts none of the available ones. Watchable paths offer
    streams.
    """
    known_type = False
    for media_type, parameters in clauses(accept.strip() or "*/*"):
        if media_type not in (*MEDIA_TYPES, "*/*"):  # the outer router does not support `application/*`
            continue
        known_type = True
        answered = YAML if media_type == YAML else PROTOBUF if takes_only_protobuf(accept) else JSON
        if watching and answered == YAML:
            raise not_acceptable("only the following media types are accepted: " + ", ".join(_STREAMS))
        wanted = {name: parameters[name] for name in ("as", "g", "v") if name in parameters}
        if not wanted:
            return Form(media_type=answered)
        kind, version = wanted.get("as", ""), wanted.get("v", "")
        if kind in (_ITEM, _LIST, _TABLE) and wanted.get("g") == _META_GROUP and version in _META_VERSIONS:
            return Form(kind, version, answered, included)
    if known_type:
        raise not_acceptable("only the following media types are accepted: " + ", ".join(MEDIA_TYPES))
    raise unavailable((*MEDIA_TYPES, *_STREAMS) if watching or watchable else MEDIA_TYPES)


def unavailable(offered: tuple[str, ...]) -> ApiError:
    """The 406 of the outer router, which compares only media types."""
    listed = ", ".join(offered)
    return ApiError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {listed}", {})


def prefers_yaml(accept: str) -> bool:
    """Whether the client prefers errors as YAML."""
    types = [media_type for media_type, _ in clauses(accept) if media_type in (*MEDIA_TYPES, "*/*")]
    return types[:1] == [YAML]


def takes_only_protobuf(accept: str) -> bool:
    types = {media_type for media_type, _ in clauses(accept)} if PROTOBUF in accept else ()
    return PROTOBUF in types and not {JSON, YAML, "*/*"} & set(types)


def clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Media types with their parameters, sorted by weight; equal weights keep their order."""
    found = []
    for clause in accept.split(","):
        media_type, *rest = (part.strip(" ") for part in clause.split(";"))
        pairs = [part.split("=") for part in rest]
        parameters = {pair[0].strip(" "): pair[1].strip(" ") for pair in pairs if len(pair) == 2}
        weight = _weight(parameters.pop("q", "1"))
        found.append((-weight, media_type.partition("/")[0] == "*", media_type.endswith("*"), media_type, parameters))
    found.sort(key=lambda clause: clause[:3])
    return [(media_type, parameters) for *_, media_type, parameters in found]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _not_representable(problem: str, resource: Resource, suffix: str) -> ApiError:
    """The type is the one that Go has inside the server."""
    package = resource.group.partition(".")[0] or "core"
    return not_acceptable(f"you requested {problem} (*{package}.{resource.kind}{suffix})")


def not_acceptable(message: str) -> ApiError:
    return ApiError(406, "NotAcceptable", message)

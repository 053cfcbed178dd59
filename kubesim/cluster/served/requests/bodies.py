"""The object in the body of a request: JSON, YAML or protobuf, and the warnings about its fields.

Mirrors: apimachinery/pkg/runtime/serializer/json json.go Decode; sigs.k8s.io/json (duplicate and unknown fields)
"""

from __future__ import annotations

from typing import Any

from kubesim.api.validation.field import JsonObject
from kubesim.cluster.problems import bad_request, unknown_format
from kubesim.cluster.served.negotiation import JSON, MEDIA_TYPES, PROTOBUF, YAML
from kubesim.cluster.served.requests.duplicates import json_duplicates, yaml_duplicates
from kubesim.cluster.served.requests.protobuf import ProtobufError, decode_object
from kubesim.golang import json as gojson
from kubesim.golang.yaml import yaml_to_json
from kubesim.values import value_object

NO_KIND = "couldn't get version/kind; json parse error"
MAX_DEPTH = 10_000


@value_object
class Body:
    """The body of a request, as text, or as bytes if it is protobuf."""

    text: str = ""
    raw: bytes = b""
    content_type: str = ""

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip().lower()


def parse(body: Body, kind: str, *, only_text: bool = False, needs_kind: bool = False) -> JsonObject:
    """Parse the object in a body; numbers stay text. `only_text`: kinds without known field numbers, such as custom
    resources, have no protobuf form. Custom resources must name their kind.
    """
    known = (JSON, YAML) if only_text else MEDIA_TYPES
    if body.media_type == PROTOBUF and not only_text:
        return _from_protobuf(body, kind)
    if body.media_type not in ("", *known):
        raise unknown_format(known)
    text = body.text
    try:
        value = yaml_to_json(text) if body.media_type == YAML else gojson.loads(text)
    except ValueError as error:
        problem = f"the object provided is unrecognized (must be of type {kind}): {NO_KIND}: {error} ({_summary(text)})"
        raise bad_request(problem) from None
    problem = unreadable(value)
    if problem:
        unrecognized = f"the object provided is unrecognized (must be of type {kind}): {NO_KIND}"
        raise bad_request(f"{unrecognized}: {problem} ({text.encode(errors='replace').hex()})")
    if needs_kind and not (value or {}).get("kind"):
        problem = f"Object 'Kind' is missing in '{text}' ({_summary(text)})"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {problem}")
    return value or {}


def _summary(text: str) -> str:
    """The beginning of a body, for errors."""
    return f"{text[:30]} ..." if len(text) > 30 else text or "<empty>"


def _from_protobuf(body: Body, kind: str) -> JsonObject:
    try:
        return decode_object(body.raw)
    except ProtobufError as error:
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {error}") from None


def duplicates(body: Body) -> list[str]:
    """The duplicate fields, in the order of their second occurrence."""
    if body.media_type == PROTOBUF:
        return []
    return yaml_duplicates(body.text) if body.media_type == YAML else json_duplicates(body.text)


def unreadable(value: Any) -> str:
    """The error for JSON that is not an API object: `kind` and `apiVersion` must be strings."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return (
            f"json: cannot unmarshal {json_kind(value)} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    for name in ("apiVersion", "kind"):
        found = json_kind(value.get(name))
        if found not in ("null", "string"):
            return f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
    return ""


def json_kind(value: Any) -> str:
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

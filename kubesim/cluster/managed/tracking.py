"""Managed fields of the server's kinds: computes the entries from an object before and after a write."""

from __future__ import annotations

from functools import partial
from typing import Any

from kubesim.api.schema.codec import encode
from kubesim.cluster.managed.managers import Entry, FieldWriter, after_update
from kubesim.cluster.managed.reset_fields import settable
from kubesim.cluster.managed.shapes import OfResource, Shape, shape_of_type
from kubesim.cluster.managed.typed import ShapeError
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.wire import is_declared

JsonObject = dict[str, Any]


def shape_of(resource: Resource) -> Shape:
    return shape_of_type(resource.type_name) if is_declared(resource) else OfResource(resource.schema)


def writer(resource: Resource, subresource: str, manager: str, now: str) -> FieldWriter:
    filtered = partial(settable, resource.kind, subresource)
    return FieldWriter(manager, resource.kind, resource.api_version, subresource, shape_of(resource), now, filtered)


def versioned(resource: Resource, obj: JsonObject) -> JsonObject:
    """An object in a client's API version."""
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    if not is_declared(resource):
        return {**head, **obj}
    body = {name: value for name, value in obj.items() if name not in head}
    return head | encode(resource.type_name, resource.conversion.from_stored(body) if resource.converted else body)


def track_create(written: FieldWriter, resource: Resource, obj: JsonObject) -> None:
    """Add the first entry of a new object, from the client's fields and the defaults, in place."""
    empty = versioned(resource, {})
    metadata = obj["metadata"]
    sent = metadata.pop("managedFields", None)
    try:
        entries = after_update(written, empty, versioned(resource, obj), sent, ())
    except ShapeError:
        return  # such an object has no managed fields; validation may reject it
    if entries:
        metadata["managedFields"] = entries


def track_update(written: FieldWriter, resource: Resource, new: JsonObject, old: JsonObject) -> list[Entry]:
    """The entries after a write. A write that changes nothing else keeps their times."""
    known = old["metadata"].get("managedFields") or ()
    sent = new["metadata"].get("managedFields")
    try:
        return after_update(written, versioned(resource, old), versioned(resource, new), sent, known)
    except ShapeError:
        return []

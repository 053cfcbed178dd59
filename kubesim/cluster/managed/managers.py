"""Field managers of an object, as in metadata.managedFields, and the effect of a write or an apply on them.

Mirrors: apimachinery/pkg/util/managedfields/internal fieldmanager.go and the managers it combines;
structured-merge-diff merge update.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kubesim.api.timestamps import parse_time
from kubesim.cluster.managed.field_sets import (
    EMPTY,
    FieldSet,
    Path,
    decode_fields,
    encode_fields,
    path_text,
)
from kubesim.cluster.managed.shapes import Shape
from kubesim.cluster.managed.typed import MISSING, compare, field_set, merge, problems, remove, with_named_fields
from kubesim.cluster.patches.json_patch import equal_json
from kubesim.errors import ApiError
from kubesim.golang.text import quoted
from kubesim.values import mutable, replace, value_object

JsonObject = dict[str, Any]
Entry = dict[str, Any]

BEFORE_FIRST_APPLY = "before-first-apply"
_ANCIENT = "ancient-changes"
_MAX_UPDATERS = 10
# Fields that every write sets and no manager owns.
_STRIPPED: tuple[Path, ...] = (
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", f"f:{name}") for name in (
        "name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
    )),
)  # fmt: skip


class Manager(NamedTuple):
    """The identity of a manager. For an apply, only the latest version counts."""

    name: str
    operation: str
    version: str
    subresource: str

    @property
    def text(self) -> str:
        """The manager as named in a conflict."""
        named = quoted(self.name)
        if self.subresource:
            named += f" with subresource {quoted(self.subresource)}"
        return f"{named} using {self.version}" if self.operation == "Update" else named


@value_object
class FieldWriter:
    """The managedFields entry of a write: manager, operation, API version, time and subresource."""

    name: str
    kind: str
    version: str
    subresource: str
    shape: Shape
    now: str
    settable: Callable[[FieldSet], FieldSet] = lambda paths: paths

    def manager(self, operation: str) -> Manager:
        version = "" if operation == "Apply" else self.version
        return Manager(self.name or "unknown", operation, version, self.subresource)


@mutable
class Managed:
    """Managed fields. `versions` is the API version of each applying manager's last apply."""

    fields: dict[Manager, FieldSet]
    versions: dict[Manager, str]
    times: dict[Manager, str]


class Conflicts(Exception):
    """Fields owned by other managers that an apply would change."""

    def __init__(self, found: Mapping[Manager, FieldSet]) -> None:
        self.found = found


def conflict_error(found: Mapping[Manager, FieldSet]) -> ApiError:
    pairs = [(manager, path) for manager in sorted(found) for path in sorted(found[manager])]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager.text}", "field": path_text(path)}
        for manager, path in pairs
    ]
    if len(pairs) == 1:
        message = f"Apply failed with 1 conflict: conflict with {pairs[0][0].text}: {path_text(pairs[0][1])}"
    else:
        lines = []
        for manager in sorted(found, key=lambda each: (each.name, each)):
            lines.append(f"conflicts with {manager.text}:")
            lines += [f"- {path_text(path)}" for path in sorted(found[manager])]
        message = f"Apply failed with {len(pairs)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", message, {"causes": causes})


# -- entries ----------------------------------------------------------------------------------------------------------


def decoded(entries: Iterable[Entry]) -> Managed:
    """Decode managedFields; raises ValueError for invalid entries."""
    managed = Managed({}, {}, {})
    for entry in entries:
        operation, version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in ("Apply", "Update") or not version or entry.get("fieldsType") != "FieldsV1":
            raise ValueError("not an entry of managed fields")
        named = "" if operation == "Apply" else version
        manager = Manager(entry.get("manager", ""), operation, named, entry.get("subresource", ""))
        managed.fields[manager] = decode_fields(entry.get("fieldsV1") or {})
        managed.versions[manager] = version
        if entry.get("time"):
            managed.times[manager] = entry["time"]
    return managed


def _decoded_or_none(entries: Iterable[Entry]) -> Managed:
    try:
        return decoded(entries)
    except (ValueError, TypeError, AttributeError):
        return Managed({}, {}, {})


def encoded(managed: Managed) -> list[Entry]:
    entries = []
    for manager, fields in managed.fields.items():
        entry: Entry = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": managed.versions[manager],
        }
        if manager in managed.times:
            entry["time"] = managed.times[manager]
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": encode_fields(fields)}
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    return sorted(entries, key=_order)


def _order(entry: Entry) -> tuple[Any, ...]:
    time = parse_time(entry["time"]) if entry.get("time") else 0
    return entry["operation"], time, entry["manager"], entry["apiVersion"], entry.get("subresource", "")


def same_but_for_times(left: Iterable[Entry], right: Iterable[Entry]) -> bool:
    def plain(entries: Iterable[Entry]) -> list[str]:
        return sorted(repr(sorted((key, repr(entry[key])) for key in entry if key != "time")) for entry in entries)

    return plain(left) == plain(right)


def _is_reset(entries: Any) -> bool:
    """Whether the client resets managedFields, with `[]` or `[{}]`."""
    return entries is not None and (not entries or entries == [{}])


# -- writing ----------------------------------------------------------------------------------------------------------


def after_update(
    writer: FieldWriter, live: JsonObject, new: JsonObject, sent: Any, known: Iterable[Entry]
) -> list[Entry]:
    """The entries after a create, update or patch. `sent` are the entries in the request; None: absent."""
    if sent is not None and not writer.subresource and _is_reset(sent):
        managed = Managed({}, {}, {})
    else:
        managed = _decoded_or_none(sent or () if not writer.subresource else ())
        if not managed.fields:
            managed = _decoded_or_none(known)
    if not managed.fields and (live.get("metadata") or {}).get("uid"):
        return []  # an object without managed fields is tracked from its first apply on
    _update(writer, live, new, managed)
    _cap_updaters(managed)
    return encoded(managed)


def _update(writer: FieldWriter, live: JsonObject, new: JsonObject, managed: Managed) -> None:
    """Give changed fields to the writer and take them from others, in place."""
    changed = compare(writer.shape, _headless(live), _headless(new))
    removed, modified, added = (writer.settable(paths) for paths in changed)
    _take_away(managed, modified | added, removed, None)
    fields = _stripped(modified | added)
    if fields:
        manager = writer.manager("Update")
        managed.fields[manager] = managed.fields.get(manager, EMPTY) | fields
        managed.versions[manager], managed.times[manager] = writer.version, writer.now


def _headless(obj: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _stripped(fields: FieldSet) -> FieldSet:
    return fields - frozenset(_STRIPPED)


def _take_away(managed: Managed, taken: FieldSet, removed: FieldSet, but: Manager | None) -> None:
    for manager, fields in list(managed.fields.items()):
        if manager == but:
            continue
        managed.fields[manager] = fields - taken - removed
    for manager in [each for each, fields in managed.fields.items() if not fields]:
        del managed.fields[manager]


def _cap_updaters(managed: Managed) -> None:
    """Merge the oldest entries if there are too many updating managers."""
    updaters = [manager for manager in managed.fields if manager.operation == "Update"]
    if len(updaters) <= _MAX_UPDATERS:
        return
    updaters.sort(key=lambda each: (parse_time(managed.times[each]) if each in managed.times else 0, each))
    left, first = len(updaters), dict[str, Manager]()
    for manager in updaters:
        if left <= _MAX_UPDATERS:
            break
        bucket = Manager(_ANCIENT, "Update", manager.version, "")
        if manager.version not in first:
            first[manager.version] = manager
            continue
        if bucket not in managed.fields:
            managed.fields[bucket] = managed.fields.pop(first[manager.version])
            managed.versions[bucket] = manager.version
        managed.fields[bucket] |= managed.fields.pop(manager)
        if manager in managed.times:
            managed.times[bucket] = managed.times[manager]
        left -= 1


# -- applying ---------------------------------------------------------------------------------------------------------


def after_apply(
    writer: FieldWriter, empty: JsonObject, live: JsonObject, config: JsonObject, known: list[Entry], *, force: bool
) -> tuple[JsonObject | None, list[Entry]]:
    """The object after an apply (None: unchanged), and its entries.

    Raises `Conflicts`, and ValueError for a configuration that does not match the object's schema.
    """
    found = problems(writer.shape, config)
    if found:
        raise ValueError(found[0] if len(found) == 1 else "errors:\n" + "\n".join(f"  {each}" for each in found))
    managed = decoded(known)
    if not managed.fields:
        _update(replace(writer, name=BEFORE_FIRST_APPLY), empty, live, managed)
    manager = writer.manager("Apply")
    last = managed.fields.get(manager, EMPTY)
    live = _headless(live)
    merged = merge(writer.shape, live, config)
    managed.fields[manager] = _stripped(writer.settable(field_set(writer.shape, config)))
    managed.versions[manager] = writer.version
    merged = _pruned(writer.shape, merged, managed, last)
    _check_conflicts(writer, live, merged, managed, manager, force)
    if not managed.fields.get(manager):
        managed.fields.pop(manager, None)
    if equal_json(live, merged):
        return None, encoded(managed)
    if manager in managed.fields:
        managed.times[manager] = writer.now
    return merged, encoded(managed)


def _check_conflicts(
    writer: FieldWriter, live: JsonObject, merged: JsonObject, managed: Managed, manager: Manager, force: bool
) -> None:
    removed, modified, added = (writer.settable(paths) for paths in compare(writer.shape, live, merged))
    taken = modified | added
    conflicts = {
        other: fields & taken for other, fields in managed.fields.items() if other != manager and fields & taken
    }
    if conflicts and not force:
        raise Conflicts(conflicts)
    _take_away(managed, taken, removed, manager)


def _pruned(shape: Shape, merged: JsonObject, managed: Managed, last: FieldSet) -> JsonObject:
    """The object without fields that the manager no longer applies and no other manager owns."""
    if not last:
        return merged
    last = with_named_fields(shape, last)
    pruned = _removed(shape, merged, last)
    owned = frozenset[Path]().union(*managed.fields.values())
    everything = with_named_fields(shape, field_set(shape, merged))
    kept = with_named_fields(shape, field_set(shape, pruned)) | with_named_fields(shape, owned)
    pruned = _removed(shape, merged, everything - kept)
    left = with_named_fields(shape, field_set(shape, pruned))
    return _removed(shape, merged, (everything - left) & last)


def _removed(shape: Shape, value: JsonObject, paths: FieldSet) -> JsonObject:
    found = remove(shape, value, paths)
    return {} if found is MISSING else found

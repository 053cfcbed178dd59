"""Reads a saved run (`kubesim run --save`) as a recording of its node, as a watch-only client would have seen it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.errors import InputError

Object = dict[str, Any]
Numbered = tuple[int, Object]
_KINDS = ("Pod", "Event", "Node", "Lease")
_LEASES = "kube-node-lease"


def is_saved_run(first: Object) -> bool:
    """Whether the first line of a file is the header of a saved run."""
    return first.get("type") == "run" and isinstance(first.get("nodes"), list)


def as_recording(first: Object, values: Iterable[Numbered], path: str) -> Iterator[Numbered]:
    """The recording: a header, a LIST of each kind, then the changes, each with the number of its line."""
    nodes = first["nodes"]
    if len(nodes) != 1:
        raise InputError(path, f"is a run of {len(nodes)} nodes; a replay follows one")
    try:
        start = parse_time(str(first.get("start"))) / SECOND
    except ValueError as error:
        raise InputError(path, str(error), line=1) from None
    view = _View(str(nodes[0]), start)
    yield 1, {"t": start, "header": {"node": view.node}}
    begun = False
    for number, value in values:
        if not begun and not _is_initial(value):
            yield from ((number, message) for message in view.lists())
            begun = True
        if value.get("type") in ("ADDED", "MODIFIED", "DELETED"):
            message = view.message(value)
            if message is not None and begun:
                yield number, message
        elif value.get("type") == "end":
            yield number, {"t": start + _t(value), "action": "end"}


def _is_initial(value: Object) -> bool:
    return value.get("type") == "ADDED" and not _t(value)


def _t(value: Object) -> float:
    t = value.get("t")
    return float(t) if isinstance(t, int | float) else 0.0


class _View:
    """The objects that a follower of one node watches."""

    def __init__(self, node: str, start: float) -> None:
        self.node = node
        self._start = start
        self._objects: dict[tuple[str, str, str], Object] = {}
        self._version = "1"

    def lists(self) -> Iterator[Object]:
        for kind in _KINDS:
            items = [obj for key, obj in self._objects.items() if key[0] == kind]
            yield {"t": self._start, "kind": kind, "type": "LIST", "resourceVersion": self._version, "items": items}

    def message(self, value: Object) -> Object | None:
        """The watch event for a change: an object that enters the selection is ADDED."""
        obj = value.get("object")
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        if not isinstance(obj, dict) or not isinstance(metadata, dict):
            return None
        self._version = str(metadata.get("resourceVersion", self._version))
        kind, key = (
            str(obj.get("kind")),
            (str(obj.get("kind")), metadata.get("namespace", ""), metadata.get("name", "")),
        )
        if kind not in _KINDS or not self._is_watched(kind, obj):
            return None
        known = self._objects.pop(key, None) is not None
        if value["type"] == "DELETED":
            type = "DELETED" if known else None
        else:
            self._objects[key] = obj
            type = "MODIFIED" if known else "ADDED"
        return None if type is None else {"t": self._start + _t(value), "kind": kind, "type": type, "object": obj}

    def _is_watched(self, kind: str, obj: Object) -> bool:
        metadata = obj["metadata"]
        if kind == "Pod":
            return bool((obj.get("spec") or {}).get("nodeName") == self.node)
        if kind == "Lease":
            return bool((metadata.get("namespace"), metadata.get("name")) == (_LEASES, self.node))
        return kind != "Node" or metadata.get("name") == self.node

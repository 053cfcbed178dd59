"""A recording of a node: everything that a watch-only client received, one JSON value per line, in the order of
receipt.

The first line is the header. A message has a kind (Pod, Event, Node, Lease) and a type: LIST, a type of watch event, or
BROKEN (the list or watch ended; `relist: false` if the watch was resumed where it ended). Actions and notes are lines
without a kind. `t` is the time of receipt in Unix seconds. Reading it raises InputError with the file and line of a
mistake.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, cast

from kubesim.api.timestamps import SECOND
from kubesim.attach.replay.saved_run import as_recording, is_saved_run
from kubesim.cluster.remote.answers import MAX_DEPTH, is_deeper_than
from kubesim.errors import InputError, UsageError, not_json
from kubesim.golang.json import whole_characters
from kubesim.values import value_object

API_VERSIONS = {"Pod": "v1", "Event": "v1", "Node": "v1", "Lease": "coordination.k8s.io/v1"}
CHANGES = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
MAX_LINE = 1 << 28
KUBELET_WAKES = 5 * SECOND  # until a restarted kubelet has done what is due


@value_object
class Message:
    """One line about one kind. `at` is in microseconds; `value` is the whole line."""

    at: int
    kind: str
    type: str
    value: dict[str, Any]


@value_object
class NodeRecording:
    """A recording. `closed` are the periods in which the API server accepted no new connections, `stopped` those
    without a running kubelet."""

    node: str
    messages: tuple[Message, ...]
    begin: int
    end: int
    closed: tuple[tuple[int, int], ...] = ()
    stopped: tuple[tuple[int, int], ...] = ()


def read_recording(path: str) -> NodeRecording:
    """Read a file, which may also be a saved run; gzip if its name ends in .gz."""
    values = _values(path)
    first = next(values, None)
    if first is not None and is_saved_run(first[1]):
        return recording_of(as_recording(first[1], values, path), path)
    return recording_of(values if first is None else chain([first], values), path)


def recording_of(values: Iterable[tuple[int, dict[str, Any]]], path: str) -> NodeRecording:
    """Parse the numbered lines of a file into a recording."""
    node, messages, actions, last = "", [], [], 0
    for number, value in values:
        at = _time(path, number, value)
        last = max(last, at)
        if number == 1:
            node = _node(path, value)
        elif "kind" in value:
            messages.append(_message(path, number, at, value))
        elif "action" in value:
            actions.append((at, str(value["action"]), str(value.get("phase", ""))))
        elif "note" not in value:
            raise InputError(path, "neither a message, nor an action, nor a note", line=number)
    if not node:
        raise InputError(path, "empty; the first line of a recording is its header", line=1)
    first = {message.kind: message.at for message in reversed(messages) if message.type == "LIST"}
    if "Pod" not in first:
        raise InputError(path, "no LIST of Pods: nothing can be replayed")
    return NodeRecording(
        node,
        tuple(messages),
        max(first.values()),
        last,
        _stretches(actions, "restart apiserver", last, 0),
        _stretches(actions, "restart kubelet", last, KUBELET_WAKES),
    )


def _values(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    try:
        with _opened(path) as lines:
            while line := lines.readline(MAX_LINE):
                number += 1
                yield number, _value(path, number, line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(path, f"damaged gzip: {error}", line=number + 1) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def _opened(path: str) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb"))


def _value(path: str, number: int, line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise InputError(path, "the line is cut off or too long", line=number)
    try:
        value = json.loads(whole_characters(line.decode()))
    except json.JSONDecodeError as error:
        raise not_json(path, error, number) from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError(path, "not JSON that can be read", line=number) from None
    if not isinstance(value, dict):
        raise InputError(path, "not a JSON object", line=number)
    if is_deeper_than(value, MAX_DEPTH):
        raise InputError(path, "nested too deeply", line=number)
    return value


def _time(path: str, number: int, value: dict[str, Any]) -> int:
    t = value.get("t")
    if isinstance(t, bool) or not isinstance(t, int | float) or not math.isfinite(t) or not 0 <= t < 1e11:
        raise InputError(path, "must be a time in Unix seconds", line=number, field="t")
    return round(t * SECOND)


def _node(path: str, value: dict[str, Any]) -> str:
    header = value.get("header")
    node = header.get("node") if isinstance(header, dict) else None
    if not isinstance(node, str) or not node:
        raise InputError(path, "the first line of a recording is its header, with the name of the node", line=1)
    return node


def _message(path: str, number: int, at: int, value: dict[str, Any]) -> Message:
    kind, type = value["kind"], value.get("type")
    if not isinstance(kind, str) or kind not in API_VERSIONS:
        raise InputError(path, f"must be one of {', '.join(API_VERSIONS)}", line=number, field="kind")
    if type == "LIST":
        items = value.get("items")
        if not _is_version(value.get("resourceVersion")) or not isinstance(items, list):
            raise InputError(path, "a LIST has a resourceVersion and items", line=number)
        for index, item in enumerate(items):
            if not _is_object(item):
                raise InputError(path, "not an object with a name and a version", line=number, field=f"items[{index}]")
    elif type in CHANGES:
        obj = value.get("object")
        if not _is_object(obj, named=type != "BOOKMARK"):
            raise InputError(path, "not an object with a name and a version", line=number, field="object")
    elif type not in ("BROKEN", "ERROR"):
        allowed = ", ".join(("LIST", *CHANGES, "ERROR", "BROKEN"))
        raise InputError(path, f"must be one of {allowed}", line=number, field="type")
    return Message(at, kind, type, value)


def _is_object(value: Any, *, named: bool = True) -> bool:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or not _is_version(metadata.get("resourceVersion")):
        return False
    named_well = isinstance(metadata.get("name"), str) and isinstance(metadata.get("namespace", ""), str)
    return named_well or not named


def _is_version(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20


def _stretches(actions: list[tuple[int, str, str]], action: str, last: int, more: int) -> tuple[tuple[int, int], ...]:
    """The periods from each `stop` to the next `started`, plus `more`."""
    found: list[tuple[int, int]] = []
    begin: int | None = None
    for at, name, phase in actions:
        if name == action and phase == "stop":
            begin = at if begin is None else begin
        elif name == action and phase == "started" and begin is not None:
            found.append((begin, at + more))
            begin = None
    return tuple([*found, (begin, last)] if begin is not None else found)

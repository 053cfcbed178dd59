"""Reads the lines of a saved run into a history. Raises InputError with the invalid line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.cluster.saved.history import ObjectChange, RunHistory
from kubesim.cluster.saved.lines import CHANGES, RunHeader
from kubesim.errors import InputError, not_json
from kubesim.trace.records import CriCall, LogOutput, Record

_HINT = "give a file that `kubesim run --save` wrote"


def read_history(lines: Iterable[str], source: str) -> RunHistory:
    """Read a history. `source` is the file name for errors."""
    history: RunHistory | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        content = _content(line, source, number)
        if history is None:
            history = RunHistory(_header(content, source, number))
        elif "seq" in content:
            history.record(_record(content, source, number))
        elif content.get("type") == "end":
            history.ended(_time(content, source, number))
        else:
            history.change(_change(content, source, number))
    if history is None:
        raise InputError(source, f"no run in it: {_HINT}")
    return history


def _content(line: str, source: str, number: int) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise not_json(source, error, number) from None
    if not isinstance(content, dict):
        raise InputError(source, f"is no line of a saved run: {_HINT}", line=number)
    return content


def _header(content: dict[str, Any], source: str, number: int) -> RunHeader:
    nodes = content.get("nodes")
    texts = [content.get(name) for name in ("scenario", "profile", "start")]
    if content.get("type") != "run" or not isinstance(nodes, list) or not all(isinstance(each, str) for each in texts):
        raise InputError(source, f"is no header of a saved run: {_HINT}", line=number)
    try:
        start, seed = parse_time(str(content["start"])), int(content.get("seed", 0))
    except (TypeError, ValueError) as error:
        raise InputError(source, str(error), line=number) from None
    return RunHeader(str(texts[0]), seed, str(texts[1]), start, tuple(map(str, nodes)))


def _time(content: dict[str, Any], source: str, number: int) -> int:
    t = content.get("t")
    if isinstance(t, bool) or not isinstance(t, int | float) or not math.isfinite(t) or not 0 <= t < 1e11:
        raise InputError(source, "must be seconds since the start", line=number, field="t")
    return round(t * SECOND)


def _record(content: dict[str, Any], source: str, number: int) -> Record:
    """The fields of a trace record that a history needs."""
    t, args = _time(content, source, number), content.get("args")
    pod, container = (str(content.get(name, "")) for name in ("pod", "container"))
    if content.get("kind") == "log":
        stream, text = (str(content.get(name, "")) for name in ("stream", "text"))
        return LogOutput(t=t, pod=pod, container=container, stream=stream, text=text)
    if content.get("kind") == "cri.call" and isinstance(args, dict):
        return CriCall(t=t, pod=pod, container=container, call=str(content.get("call", "")), args=args)
    return Record(t=t)


def _change(content: dict[str, Any], source: str, number: int) -> ObjectChange:
    type, obj = content.get("type"), content.get("object")
    if type not in CHANGES:
        raise InputError(source, f"must be one of {', '.join(CHANGES)}", line=number, field="type")
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(obj, dict) or not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise InputError(source, "not an object with a name", line=number, field="object")
    if not isinstance(obj.get("kind"), str) or not isinstance(obj.get("apiVersion"), str):
        raise InputError(source, "has no kind or no apiVersion", line=number, field="object")
    return ObjectChange(_time(content, source, number), type, obj)

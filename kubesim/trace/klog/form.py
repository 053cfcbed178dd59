"""The two formats of a log line: klog's text, and the JSON of component-base (zap).

Mirrors: k8s.io/klog/v2 internal/serialize/keyvalues.go, internal/buffer/buffer.go FormatHeader;
component-base/logs/json/json.go
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from kubesim.golang.text import quoted
from kubesim.trace.klog.line import KlogLine, Ref

PROCESS_ID = 1  # klog pads the process id to seven columns; a kubelet in a container is process 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Go's encoder escapes these characters, zap's does not
_HTML = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})


def as_text(line: KlogLine, at: int) -> str:
    """`I0102 15:04:05.000000       1 kubelet.go:2709] "SyncLoop ADD" source="api" pods=["default/web"]`."""
    moment = _EPOCH + timedelta(microseconds=at)
    severity = "E" if line.is_error else "I"
    file = line.caller.rpartition("/")[2]
    pairs = "".join(f" {name}{_text_value(value)}" for name, value in line.pairs.items())
    return f"{severity}{moment:%m%d %H:%M:%S.%f} {PROCESS_ID:7} {file}] {quoted(line.message)}{pairs}"


def _text_value(value: Any) -> str:
    """The separator and the value: strings are quoted, or formatted as a block if they have several lines."""
    if isinstance(value, Ref):
        return f'="{value}"'
    if isinstance(value, str):
        return _block(value) if "\n" in value else f"={quoted(value)}"
    if isinstance(value, tuple) and value and isinstance(value[0], Ref):
        return "=[" + ",".join(f'"{item}"' for item in value) + "]"
    return "=" + _compact(value).translate(_HTML)


def _block(text: str) -> str:
    lines = text.removesuffix("\n").split("\n")
    return "=<\n" + "".join(f"\t{line}\n" for line in lines) + " >"


def as_json(line: KlogLine, at: int) -> str:
    """`{"ts":946684800005,"caller":"kubelet/kubelet.go:2709","msg":...,"v":2,...}`; errors have no `v` and end
    with `err`."""
    pairs = {name: _json_value(value) for name, value in line.pairs.items()}
    head: dict[str, Any] = {"ts": _milliseconds(at), "caller": line.caller, "msg": line.message}
    if not line.is_error:
        head["v"] = line.v
    elif "err" in pairs:
        pairs["err"] = pairs.pop("err")
    return _compact({**head, **pairs})


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _milliseconds(at: int) -> int | float:
    """Milliseconds since the epoch, with microseconds as decimals if there are any."""
    whole, rest = divmod(at, 1000)
    return at / 1000 if rest else whole


def _json_value(value: Any) -> Any:
    if isinstance(value, Ref):
        namespace, _, name = value.rpartition("/")
        return {"name": name, "namespace": namespace} if namespace else {"name": name}
    return [_json_value(item) for item in value] if isinstance(value, tuple | list) else value

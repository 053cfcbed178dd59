"""Short descriptions of what changed between two summaries of a pod's status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NOTHING: Mapping[str, Any] = {}
_CONTAINER_KINDS = ("initContainers", "containers", "ephemeralContainers")


def status_changes(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> list[str]:
    """The changes: `Pending → Running`, `Ready: False → True`, `web: waiting/ContainerCreating → running`, ..."""
    before = old or _NOTHING
    out = []
    if new.get("phase") != before.get("phase"):
        out.append(_arrow(before.get("phase"), new.get("phase")))
    for name in ("reason", "podIP", "resize"):
        if new.get(name) != before.get(name):
            out.append(f"{name}: {_arrow(before.get(name), new.get(name))}")
    for kind in _CONTAINER_KINDS:
        out += _containers(before.get(kind, _NOTHING), new.get(kind, _NOTHING))
    out += _conditions(before.get("conditions", _NOTHING), new.get("conditions", _NOTHING))
    return out


def _arrow(old: Any, new: Any) -> str:
    return str(new) if old in (None, "") else f"{old} → {new or 'none'}"


def _containers(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, new in now.items():
        old = before.get(name, _NOTHING)
        words = []
        if new["state"] != old.get("state"):
            words.append(_arrow(old.get("state"), new["state"] or "not started"))
        if new["restartCount"] != old.get("restartCount", 0):
            words.append(f"restart {new['restartCount']}")
        for flag in ("started", "ready"):
            # A container that stops is neither; printing this would only repeat its new state.
            if new[flag] != old.get(flag, False) and new["state"] == "running":
                words.append(flag if new[flag] else f"not {flag}")
        known = old.get("devices", _NOTHING)
        for device, health in new.get("devices", _NOTHING).items():
            if health != known.get(device):
                words.append(f"{device} {health}")
        if words:
            yield f"{name}: {', '.join(words)}"


def _conditions(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for type, value in now.items():
        if value != before.get(type):
            status, _, reason = value.partition("/")
            yield f"{type}={status}" + (f" ({reason})" if reason else "")
    for type in before:
        if type not in now:
            yield f"{type} gone"

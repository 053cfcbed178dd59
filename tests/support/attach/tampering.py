"""Copies of recorded stories with one difference: a delay, a count, a state, a condition."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
Tamper = Callable[[Json], None]


def tampered(story: Json, change: Tamper) -> Json:
    altered = copy.deepcopy(story)
    change(altered)
    assert altered != story, "nothing was altered"
    return altered


def shifted(text: str, seconds: float) -> str:
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def shift_times(value: Any, since: str, seconds: float) -> None:
    """Shift every time from `since` on, in place. RFC 3339 times in UTC sort as text."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(item, str) and len(item) == 20 and item.endswith("Z") and item[4] == "-" and item >= since:
            value[key] = shifted(item, seconds)
        else:
            shift_times(item, since, seconds)


def delay(number: int, seconds: float, since: str) -> Tamper:
    """Delay everything from this status on (or advance it if negative), by all clocks."""

    def change(story: Json) -> None:
        t = story["statuses"][number]["t"] - 0.1
        for entry in (*story["statuses"], *story["events"]):
            if entry["t"] >= t:
                entry["t"] = round(entry["t"] + seconds, 3)
                shift_times(entry, since, seconds)

    return change


def status(number: int, edit: Callable[[Json], object]) -> Tamper:
    """Change one status."""
    return lambda story: void(edit(story["statuses"][number]["status"]))


def statuses(first: int, edit: Callable[[Json], object]) -> Tamper:
    """Change all statuses from this one on."""
    return lambda story: void([edit(entry["status"]) for entry in story["statuses"][first:]])


def without(number: int) -> Tamper:
    return lambda story: void(story["statuses"].pop(number))


def void(_: object) -> None:
    return None


def container(value: Json, name: str = "main") -> Json:
    lists = (value.get(key, ()) for key in ("containerStatuses", "initContainerStatuses"))
    found: Json = next(one for entries in lists for one in entries if one["name"] == name)
    return found


def condition(value: Json, kind: str) -> Json:
    found: Json = next(one for one in value["conditions"] if one["type"] == kind)
    return found

"""Copies of a recorded real node with one deviation from the kubelet's behaviour, made by code.

Each kind of alteration finds all positions in a pod's statuses or Events where it applies.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.values import value_object
from tests.support.attach.recorded_node import at, beginning
from tests.support.attach.tampering import Json, condition, shift_times, shifted

# The node's clock is known by then; the kubelet restarts later.
FIRST, LAST = 30 * SECOND, 330 * SECOND
AFTERWARDS = 60 * SECOND  # how long the follower runs after the alteration

Edit = Callable[[list[Json], int], None]


@value_object
class Alteration:
    """`lines`: the recording of one pod with its node, up to a minute after the alteration."""

    kind: str
    pod: str
    lines: list[Json]
    expected: str  # expected text of the follower


def alterations(lines: Sequence[Json]) -> Iterator[Alteration]:
    for kind, (expected, pods, places, edit) in KINDS.items():
        for pod in pods:
            mine = _about(lines, pod)
            begin = beginning(mine)
            found = [place for place in places(mine, pod) if FIRST <= at(mine[place]) - begin <= LAST]
            for place in found[:3]:
                altered = copy.deepcopy(mine)
                end = at(altered[place]) + AFTERWARDS
                edit(altered, place)
                altered.sort(key=lambda line: line["t"])
                kept = [line for line in altered if at(line) <= end]
                yield Alteration(kind, pod, [*kept, {"t": end / SECOND, "action": "end"}], expected)


def _about(lines: Sequence[Json], pod: str) -> list[Json]:
    """The lines about one pod and its node."""

    def mine(kind: str, one: Json) -> bool:
        about = one["involvedObject"] if kind == "Event" else one["metadata"]
        return kind not in ("Pod", "Event") or about["name"] == pod

    found = []
    for line in lines:
        if line.get("type") == "LIST":
            found.append({**line, "items": [one for one in line["items"] if mine(line["kind"], one)]})
        elif "object" not in line or mine(line["kind"], line["object"]):
            found.append(line)
    return found


# -- places ---------------------------------------------------------------------------------------------------------

Places = Callable[[list[Json], str], list[int]]


def _statuses(wanted: Callable[[Json, Json], bool]) -> Places:
    """The statuses for which a condition holds, given the previous status."""

    def places(lines: list[Json], pod: str) -> list[int]:
        found, before = [], None
        for number, line in enumerate(lines):
            if line.get("kind") == "Pod" and line["type"] in ("ADDED", "MODIFIED"):
                if before is not None and "startTime" in before and wanted(before, line["object"]["status"]):
                    found.append(number)
                before = line["object"]["status"]
        return found

    return places


def _kills(lines: list[Json], pod: str) -> list[int]:
    """Kills caused by a failed probe."""
    return [
        number
        for number, line in enumerate(lines)
        if line.get("kind") == "Event"
        and line.get("object", {}).get("reason") == "Killing"
        and "probe" in line["object"]["message"]
        and _running_before(lines, number) is not None
    ]


def _pulls(lines: list[Json], pod: str) -> list[int]:
    """Pulls after a failed pull."""
    return [
        number
        for number, line in enumerate(lines)
        if line.get("object", {}).get("reason") == "Pulling" and _failed_before(lines, number)
    ]


def _failed_before(lines: list[Json], number: int) -> str:
    """When the previous pull failed, if that was observed."""
    for line in reversed(lines[:number]):
        if line.get("object", {}).get("message", "").startswith("Failed to pull"):
            failed: str = line["object"]["lastTimestamp"]
            return failed
    return ""


def _running_before(lines: list[Json], number: int) -> str | None:
    """When the container that was then running had started."""
    for line in reversed(lines[:number]):
        if line.get("kind") == "Pod" and "object" in line:
            began: str | None = _main(line["object"]["status"])["state"].get("running", {}).get("startedAt")
            return began
    return None


def _main(status: Json) -> Json:
    statuses = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    found: Json = next((one for one in statuses if one["name"] in ("main", "side")), {"state": {}, "restartCount": 0})
    return found


def _restarted(before: Json, now: Json) -> bool:
    return _main(now)["restartCount"] > _main(before)["restartCount"] and "running" in _main(now)["state"]


def _restarted_after_wait(before: Json, now: Json) -> bool:
    return _restarted(before, now) and _wait(now) >= 8


def _wait(now: Json) -> float:
    ended = _main(now)["lastState"].get("terminated", {}).get("finishedAt")
    began = _main(now)["state"]["running"]["startedAt"]
    return (parse_time(began) - parse_time(ended)) / SECOND if ended else 0


def _ended(before: Json, now: Json) -> bool:
    return "terminated" in _main(now)["state"] and "terminated" not in _main(before)["state"]


def _still_ended(before: Json, now: Json) -> bool:
    one, other = _main(before), _main(now)
    return "terminated" in one["state"] and one["state"] == other["state"]


def _settled(before: Json, now: Json) -> bool:
    return bool(now.get("conditions")) and "running" in _main(now)["state"] and "containerStatuses" in before


def _became_terminal(before: Json, now: Json) -> bool:
    final = ("Succeeded", "Failed")
    return now["phase"] in final and before["phase"] not in final


def _not_started(before: Json, now: Json) -> bool:
    return "running" in _main(now)["state"] and _main(now).get("started") is False


def _waits_long(before: Json, now: Json) -> bool:
    return "back-off" in _main(now)["state"].get("waiting", {}).get("message", "")


def _counted(before: Json, now: Json) -> bool:
    return bool(_main(before)["restartCount"] > 0)


# -- edits ----------------------------------------------------------------------------------------------------------


def _status(change: Callable[[Json], object]) -> Edit:
    """Change one status."""

    def edit(lines: list[Json], place: int) -> None:
        change(lines[place]["object"]["status"])

    return edit


def _status_after(change: Callable[[Json], object]) -> Edit:
    """Add a status a moment later."""

    def edit(lines: list[Json], place: int) -> None:
        more = copy.deepcopy(lines[place])
        more["t"] += 0.001
        meta = more["object"]["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        change(more["object"]["status"])
        lines.insert(place + 1, more)

    return edit


def _stretch(seconds: float) -> Edit:
    """Delay everything about the pod from here on, by all of its clocks."""

    def edit(lines: list[Json], place: int) -> None:
        since = _whole_second(lines[place]["t"] - 1)
        for line in lines[place:]:
            if line.get("kind") in ("Pod", "Event") and "object" in line:
                line["t"] += seconds
                shift_times(line["object"], since, seconds)

    return edit


def _whole_second(t: float) -> str:
    return shifted("1970-01-01T00:00:00Z", int(t))


def _start_early(lines: list[Json], place: int) -> None:
    """Move the restart earlier by half its back-off, in every status with this attempt."""
    status = _main(lines[place]["object"]["status"])
    began = status["state"]["running"]["startedAt"]
    earlier = shifted(began, -int(_wait(lines[place]["object"]["status"]) * 0.6))
    for line in lines[place:]:
        if line.get("kind") == "Pod" and "object" in line:
            _replace(line["object"]["status"], began, earlier)


def _replace(value: Any, old: str, new: str) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if item == old and key == "startedAt":
            value[key] = new
        else:
            _replace(item, old, new)


def _kill_early(lines: list[Json], place: int) -> None:
    began = _running_before(lines, place)
    assert began is not None
    lines[place]["object"]["lastTimestamp"] = shifted(began, 1)


def _pull_early(lines: list[Json], place: int) -> None:
    """Start the pull right after the previous one failed."""
    lines[place]["object"]["lastTimestamp"] = shifted(_failed_before(lines, place), 2)


def _not_counted(lines: list[Json], place: int) -> None:
    """Decrease the restart count of every status from here on by one."""
    for line in lines[place:]:
        if line.get("kind") == "Pod" and "object" in line:
            _main(line["object"]["status"])["restartCount"] -= 1


def _remove_restart(lines: list[Json], place: int) -> None:
    """Remove an attempt from all statuses."""
    count = _main(lines[place]["object"]["status"])["restartCount"]
    lines[:] = [
        line
        for line in lines
        if line.get("kind") != "Pod" or "object" not in line or _main(line["object"]["status"])["restartCount"] != count
    ]


def _flip_ready(status: Json) -> None:
    for kind in ("Ready", "ContainersReady"):
        one = condition(status, kind)
        one["status"] = "False" if one["status"] == "True" else "True"
        one.pop("reason", None)
        one.pop("message", None)


def _report_late(lines: list[Json], place: int) -> None:
    """Deliver statuses later than the changes they report."""
    for line in lines[place:]:
        if line.get("kind") == "Pod":
            line["t"] += 25


def _other_exit(status: Json) -> None:
    ended = _main(status)["state"]["terminated"]
    ended["reason"] = "Error" if ended["exitCode"] == 0 else "Completed"


def _other_wait(status: Json) -> None:
    waiting = _main(status)["state"]["waiting"]
    waiting["message"] = waiting["message"].replace("back-off ", "back-off 1h", 1)


def _moved(status: Json) -> None:
    one = condition(status, "PodScheduled")
    one["lastTransitionTime"] = shifted(one["lastTransitionTime"], 7)


def _ended_later(status: Json) -> None:
    ended = _main(status)["state"]["terminated"]
    ended["finishedAt"] = shifted(ended["finishedAt"], 1)


CRASHING = ("crash-fast", "crash-slow", "live-exec", "start-fail", "retry-ok")
RUNNING = ("ready-flips", "start-ok", "crash-slow", "side-start", "del-trap", "img-bad")
# The alteration, the follower's expected text, the pods, and the function that applies it.
KINDS: dict[str, tuple[str, Sequence[str], Places, Edit]] = {
    "a restart before its back-off is over": (
        "before the rules allow it",
        ("crash-slow", "retry-ok"),
        _statuses(_restarted_after_wait),
        _start_early,
    ),
    "a restart long after its back-off": (
        "after it was due at the latest",
        ("crash-slow", "retry-ok"),
        _statuses(_restarted),
        _stretch(45),
    ),
    "a pod that ends long after its grace": (
        "after it was due at the latest",
        ("del-trap", "stop-long"),
        _statuses(_became_terminal),
        _stretch(30),
    ),
    "a kill before the probe's failureThreshold": (
        "before that can have failed so often",
        ("live-exec", "start-fail"),
        _kills,
        _kill_early,
    ),
    "a pull before its back-off is over": ("before the rules allow it", ("no-image", "img-bad"), _pulls, _pull_early),
    "a pull long after its back-off": ("after it was due at the latest", ("no-image", "img-bad"), _pulls, _stretch(60)),
    "a restart that no status shows": (
        "after it was due at the latest",
        ("crash-slow", "crash-fast", "retry-ok"),
        _statuses(_restarted),
        _remove_restart,
    ),
    "a restart that is not counted": ("restartCount stayed", CRASHING, _statuses(_restarted), _not_counted),
    "a restart count that decreases": (
        "went back",
        CRASHING,
        _statuses(_counted),
        _status(lambda status: _main(status).update(restartCount=0)),
    ),
    "a condition that contradicts the containers": (
        "where the containers mean",
        RUNNING,
        _statuses(_settled),
        _status(_flip_ready),
    ),
    "a terminal phase that is reverted": (
        "became Running",
        ("retry-ok", "job-bad", "deadline-run", "del-trap", "stop-long"),
        _statuses(_became_terminal),
        _status_after(lambda status: status.update(phase="Running")),
    ),
    "ready before the startup probe succeeded": (
        "is ready before it has started",
        ("start-ok", "start-fail"),
        _statuses(_not_started),
        _status(lambda status: _main(status).update(ready=True)),
    ),
    "a reason that contradicts the exit code": (
        "is reported as",
        ("crash-fast", "crash-slow", "retry-ok", "job-bad"),
        _statuses(_ended),
        _status(_other_exit),
    ),
    "an exit that is reported long after it happened": (
        "is reported",
        ("crash-slow", "retry-ok"),
        _statuses(_ended),
        _report_late,
    ),
    "an end that changes": (
        "is reported differently than before",
        CRASHING,
        _statuses(_ended),
        _status_after(_ended_later),
    ),
    "a wrong back-off in a message": (
        "but the status reports",
        ("crash-slow", "retry-ok"),
        _statuses(_waits_long),
        _status(_other_wait),
    ),
    "another startTime": (
        "startTime changed",
        RUNNING[:2],
        _statuses(_settled),
        _status(lambda status: status.update(startTime=shifted(status["startTime"], 5))),
    ),
    "a transition time that moves alone": ("moved although", RUNNING[:3], _statuses(_settled), _status(_moved)),
    "a container that vanishes": (
        "disappeared",
        RUNNING[:2],
        _statuses(_settled),
        _status(lambda status: status["containerStatuses"].clear()),
    ),
}

"""Recorded stories of a real kubelet as input of the shadow: no divergence, and correct predictions.

Altered copies of the stories cause the expected divergences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.timestamps import SECOND, seconds
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.shadow.shadow import Shadow
from tests.support.attach.story_stream import STORIES, beginning, story, stream
from tests.support.attach.tampering import Json, Tamper, condition, container, delay, status, statuses, tampered


def followed(reported: Mapping[str, Any]) -> tuple[Shadow, list[Divergence]]:
    """The shadow after the story, and its divergences; the clock ticks every second, as in a live run."""
    shadow, found = Shadow(), list[Divergence]()
    now = beginning(reported)
    for observed in stream(reported):
        while now + SECOND < observed.now:
            now += SECOND
            found += shadow.tick(now)
        if isinstance(observed.object, Event):
            report = shadow.observe_event(observed.object, observed.now)
        elif observed.kind == "pod":
            report = shadow.observe_pod(observed.object, observed.now)
        else:
            report = shadow.observe_removal(observed.object, observed.now)
        found += report.divergences
    found += shadow.tick(beginning(reported) + seconds(reported["endSeconds"]))
    return shadow, found


def test_all_stories_are_used() -> None:
    assert len(STORIES) == 46


@pytest.mark.parametrize("name", STORIES)
def test_a_real_kubelet_has_no_divergence(name: str) -> None:
    _, found = followed(story(name))
    assert [divergence.says for divergence in found] == []


def test_predictions_are_correct() -> None:
    """Each kind was predicted more than once, and no prediction was too early or too late."""
    outcomes: Counter[tuple[str, str]] = Counter()
    for name in STORIES:
        outcomes.update(followed(story(name))[0].outcomes)
    kept = {due: count for (due, outcome), count in outcomes.items() if outcome == "kept"}
    least = {
        "accept": 40,
        "restart": 13,
        "pull": 3,
        "mount": 12,
        "retry": 3,
        "readiness": 3,
        "startup": 1,
        "kill": 25,
        "end": 9,
        "acknowledge": 25,
        "clean-up": 70,
    }
    assert {due: count for due, count in least.items() if kept.get(due, 0) < count} == {}
    assert [key for key in outcomes if key[1] in ("early", "late")] == []


def test_after_a_story_nothing_is_left() -> None:
    shadow, _ = followed(story("crashloop"))
    assert shadow.pods == {}
    assert shadow.next_due() is None


# -- tampered -------------------------------------------------------------------------------------------------------


def _ready_for_nothing(value: Json) -> None:
    for kind in ("Ready", "ContainersReady"):
        condition(value, kind).update(status="True", reason="", message="")


def _restarts(value: Json, count: int) -> None:
    container(value)["restartCount"] = count


def _exit(value: Json, **end: Any) -> None:
    container(value)["state"]["terminated"].update(end)


TAMPERED: dict[str, tuple[str, Tamper, str]] = {
    "a restart before its back-off is over": (
        "crashloop",
        delay(8, -8, "2026-11-15T23:59:52Z"),
        "before the rules allow",
    ),
    "a restart long after it was due": ("crashloop", delay(11, 45, "2026-11-16T00:00:16Z"), "after it was due"),
    "a first restart that waits": ("crashloop", delay(5, 30, "2026-11-15T23:59:37Z"), "after it was due"),
    "a pull before its back-off is over": ("image-pull-fail", delay(4, -8, "x"), "before the rules allow"),
    "a pull long after it was due": ("image-pull-fail", delay(6, 40, "x"), "after it was due"),
    "a kill after the grace": ("delete-sigkill", delay(6, 20, "2026-11-15T23:53:30Z"), "after it was due"),
    "a pod that ends late": ("job-fails", delay(5, 20, "x"), "after it was due"),
    "a deletion that is not handled": ("simple-notoken", lambda s: _later(s, 5, 20), "after it was due"),
    "ready before its first probe": ("readiness-http", lambda s: _initial_delay(s, 10), "before the rules allow"),
    "ready from the start in spite of a probe": (
        "readiness-http",
        lambda s: _ready_at_once(s, 10),
        "before its first probe",
    ),
    "a mount that is tried too soon": (
        "configmap-missing-long",
        lambda s: _earlier(s, 8, 30),
        "before the rules allow",
    ),
    "a kill for a probe too soon": ("startup-fail", lambda s: _kill_at(s, 0.7), "before that can have failed so often"),
    "a restart a little early": ("crashloop", delay(8, -2, "2026-11-15T23:59:52Z"), "before the rules allow"),
    "a kill a little late": ("delete-sigkill", delay(6, 9, "2026-11-15T23:53:30Z"), "after it was due"),
    "a pod that ends a little late": ("job-fails", delay(5, 8, "x"), "after it was due"),
    "a deletion handled a little late": ("simple-notoken", lambda s: _later(s, 5, 7), "after it was due"),
    "an exit told a little late": ("job-fails", lambda s: _later(s, 4, 9), "after it happened"),
    "an exit told late": ("job-fails", lambda s: _later(s, 4, 30), "after it happened"),
    "a start told before it happens": ("crashloop", lambda s: _later(s, 8, -6), "before it happens"),
    "Ready without a ready container": ("simple", status(2, _ready_for_nothing), "condition"),
    "a phase that does not fit": ("simple", status(3, lambda s: s.update(phase="Pending")), "phase Pending"),
    "a final phase that is reverted": (
        "job-fails",
        status(6, lambda s: s.update(phase="Succeeded")),
        "became Succeeded",
    ),
    "a restart that is not counted": ("crashloop", statuses(5, lambda s: _restarts(s, 0)), "restartCount stayed 0"),
    "a count that goes back": ("crashloop", status(7, lambda s: _restarts(s, 0)), "went back"),
    "an exit code that its reason denies": (
        "crashloop",
        status(4, lambda s: _exit(s, exitCode=0)),
        "is reported as Error",
    ),
    "an end reported differently": (
        "job-fails",
        statuses(5, lambda s: _exit(s, finishedAt="2026-11-15T23:52:53Z")),
        "is reported differently than before",
    ),
    "a job that comes back to life": (
        "job-fails",
        status(5, lambda s: container(s).update(state={"waiting": {"reason": "ContainerCreating"}})),
        "illegal transition",
    ),
    "another startTime": (
        "simple",
        status(3, lambda s: s.update(startTime="2026-11-15T23:50:00Z")),
        "startTime changed",
    ),
    "a condition that moved without changing": (
        "simple",
        status(3, lambda s: condition(s, "Initialized").update(lastTransitionTime="2026-11-15T23:51:10Z")),
        "moved although",
    ),
    "a container that vanishes": ("two-containers", status(3, lambda s: s["containerStatuses"].pop()), "disappeared"),
    "started without running": ("simple", status(2, lambda s: container(s).update(started=True)), "without running"),
    "a generation from the future": ("simple", status(3, lambda s: s.update(observedGeneration=9)), "beyond"),
    "the wrong back-off in a message": (
        "crashloop",
        status(
            10,
            lambda s: container(s)["state"]["waiting"].update(
                message=container(s)["state"]["waiting"]["message"].replace("20s", "1m20s")
            ),
        ),
        "the status reports 1m20s",
    ),
}


def _earlier(reported: Json, number: int, by: float) -> None:
    reported["events"][number]["t"] -= by


def _initial_delay(reported: Json, delay_s: int) -> None:
    reported["manifests"][0]["spec"]["containers"][0]["readinessProbe"]["initialDelaySeconds"] = delay_s


def _ready_at_once(reported: Json, delay_s: int) -> None:
    _initial_delay(reported, delay_s)
    running = reported["statuses"][3]["status"]
    container(running).update(ready=True)
    _ready_for_nothing(running)


def _later(reported: Json, number: int, by: float) -> None:
    for entry in reported["statuses"][number:]:
        entry["t"] += by


def _kill_at(reported: Json, t: float) -> None:
    next(e for e in reported["events"] if e["reason"] == "Killing")["t"] = t


@pytest.mark.parametrize("name", TAMPERED)
def test_alterations_are_reported(name: str) -> None:
    source, change, expected = TAMPERED[name]
    _, found = followed(tampered(story(source), change))
    assert any(expected in divergence.says for divergence in found), [divergence.says for divergence in found]
    assert all(divergence.evidence and divergence.rule for divergence in found)


def test_a_divergence_names_the_pod_and_the_fields() -> None:
    source, change, _ = TAMPERED["a restart before its back-off is over"]
    reported = followed(tampered(story(source), change))[1][0].to_json()
    assert reported["pod"] == "trace/crashloop"
    assert reported["kind"] == "early"
    assert {fact["field"] for fact in reported["evidence"]} >= {"predicted", "observed"}

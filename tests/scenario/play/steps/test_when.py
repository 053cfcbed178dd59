"""Steps that wait for a condition: of an object, of an Event, or before and after an operation."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.trace.records import CriCall, CriReturn, Note
from tests.support.played import Played, pod


def noted(story: Played, words: str) -> float:
    """When a note with this text was written, in seconds."""
    return next(r.t for r in story.records if isinstance(r, Note) and words in r.text) / 1_000_000


def calls(story: Played, kind: type[CriCall] | type[CriReturn], call: str) -> list[float]:
    return [r.t / 1_000_000 for r in story.records if isinstance(r, kind) and r.call == call]


def failures(story: Played) -> list[str]:
    return [f"{failure.text}: {failure.why}" for failure in story.result.failures]


def test_a_reboot_happens_exactly_between_create_and_start() -> None:
    when = {"after": "CreateContainer", "pod": "web", "container": "main"}
    story = Played({"when": when, "reboot": {"downFor": "5s"}}, objects=[pod("web")])
    off = noted(story, "powered off")
    assert calls(story, CriReturn, "CreateContainer")[0] == off
    assert calls(story, CriCall, "StartContainer")[0] > off + 5
    assert story.result.ok


def test_before_an_operation_the_step_runs_first() -> None:
    when = {"before": "StartContainer", "pod": "web"}
    story = Played({"when": when, "kill": {"pod": "web", "sandbox": True}}, objects=[pod("web")])
    assert noted(story, "its sandbox is killed") <= calls(story, CriCall, "StartContainer")[0]
    assert story.events("web").count("SandboxChanged") == 1


def test_count_waits_for_a_later_operation() -> None:
    crash = pod("crash", command=["sh", "-c", "sleep 1; exit 1"])
    story = Played({"when": {"after": "StartContainer", "count": 2}, "cut": "1s"}, objects=[crash])
    assert noted(story, "cannot be reached") == calls(story, CriReturn, "StartContainer")[1]


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ({"pod": "web", "condition": "Ready"}, "pod web is Ready"),
        ({"pod": "web", "phase": "Running"}, "pod web is Running"),
        ({"pod": "we*", "event": "Started"}, "pod we* has Event Started"),
        ({"pod": "web", "exists": True}, "pod web exists"),
        ({"object": "Node/node-1", "condition": "Ready"}, "Node/node-1 is Ready"),
        ({"pod": "web", "field": "status.podIP", "equals": "10.88.0.10"}, 'pod web has status.podIP is "10.88.0.10"'),
    ],
)
def test_a_condition_on_any_object(when: dict[str, Any], text: str) -> None:
    story = Played({"when": when, "cut": "1s"}, objects=[pod("web")])
    assert noted(story, "cannot be reached") < 5
    assert story.result.ok
    never = Played({"when": {**when, "count": 9} if "event" in when else when, "cut": "1s"}, duration="10s")
    if "pod" in when:
        assert failures(never)[0].startswith(f"step when {text}")
        assert "its condition never became true: " in failures(never)[0]


def test_gone_waits_for_the_deletion() -> None:
    deleted = {"at": "10s", "delete": {"pod": "web"}}
    story = Played(deleted, {"when": {"pod": "web", "gone": True}, "cut": "1s"}, objects=[pod("web")])
    assert noted(story, "cannot be reached") > 10


def test_delay_starts_at_the_condition() -> None:
    ready = {"pod": "web", "condition": "Ready"}
    later = {"when": ready, "delay": "7s", "pressure": {"memory.available": "1Gi"}}
    story = Played({"when": ready, "cut": "1s"}, later, objects=[pod("web")])
    assert noted(story, "measured") == noted(story, "cannot be reached") + 7


def test_by_is_a_deadline_and_the_failure_has_the_observations() -> None:
    slow = [{"name": "*", "pullTime": "30s"}]
    story = Played({"when": {"pod": "web", "condition": "Ready"}, "by": "10s", "cut": "1s"}, objects=[pod("web")],
                   images=slow)  # fmt: skip
    assert failures(story) == [
        "step when pod web is Ready: cut: its condition did not become true by 10s: Ready is False"
    ]
    assert story.result.failures[0].at == 10_000_001


def test_an_operation_after_the_deadline_changes_nothing() -> None:
    slow = [{"name": "*", "pullTime": "30s"}]
    step = {"when": {"after": "StartContainer", "pod": "web"}, "by": "10s", "cut": "1s"}
    story = Played(step, objects=[pod("web")], images=slow, duration="60s")
    assert calls(story, CriReturn, "StartContainer")[0] > 30
    [failure] = failures(story)
    assert failure.endswith("its condition did not become true by 10s: StartContainer did not happen")


def test_an_operation_that_never_happens_is_a_failure_at_the_end() -> None:
    story = Played({"when": {"after": "StopContainer", "pod": "web"}, "cut": "1s"}, objects=[pod("web")])
    [failure] = failures(story)
    assert failure.endswith("cut: its condition never became true: StopContainer did not happen")


def test_without_a_duration_the_run_waits_for_its_steps() -> None:
    ready = {"pod": "web", "condition": "Ready"}
    first = {"when": ready, "delay": "100s", "delete": {"pod": "web"}}
    second = {"when": {"pod": "web", "gone": True}, "delay": "100s", "cut": "1s"}
    story = Played(first, second, objects=[pod("web")], duration=None)
    assert noted(story, "cannot be reached") > 200
    assert story.result.ok

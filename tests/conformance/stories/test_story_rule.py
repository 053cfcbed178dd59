"""When a story counts as reproduced."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubesim.conformance.stories.story_files import read_story
from kubesim.conformance.stories.story_rule import story_differences
from kubesim.conformance.stories.story_views import comparable

TRACES = Path(__file__).parent.parent / "data" / "traces"
Story = dict[str, Any]


def changed(name: str, change: Callable[[Story], object]) -> list[str]:
    """The differences of a story with one change."""
    reference = read_story(TRACES / f"{name}.json.gz")
    produced = copy.deepcopy(reference)
    change(produced)
    return story_differences(reference, produced)


def later(entries: list[Story], first: int, by: float) -> None:
    for entry in entries[first:]:
        entry["t"] += by


def swap(entries: list[Story], left: int, right: int) -> None:
    entries[left], entries[right] = entries[right], entries[left]


def both_later(by: float) -> Callable[[Story], object]:
    """Delay everything from the deletion on."""

    def change(story: Story) -> None:
        deleted = next(n for n, e in enumerate(story["statuses"]) if e.get("deletionTimestamp"))
        killed = next(n for n, e in enumerate(story["events"]) if e["reason"] == "Killing")
        later(story["statuses"], deleted, by)
        later(story["events"], killed, by)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda story: None,
        lambda story: story["statuses"][-1]["status"].update(podIP="10.1.2.3", startTime="2020-01-01T00:00:00Z"),
        lambda story: story["statuses"].insert(3, story["statuses"][2]),  # the same again
        lambda story: story["statuses"].pop(2),  # was true only briefly
        both_later(0.9),
        lambda story: story["events"].append(story["events"][-1] | {"message": "probe: code = Canceled"}),
        lambda story: story["events"].append(story["events"][-1] | {"component": "default-scheduler"}),
    ],
)
def test_random_variations_are_ignored(change: Callable[[Story], object]) -> None:
    assert changed("simple-notoken", change) == []


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (lambda story: story["statuses"].pop(3), "status missing"),
        (lambda story: story["statuses"][3]["status"].update(phase="Pending"), "status not expected"),
        (lambda story: story["statuses"][3]["status"]["conditions"].reverse(), "status not expected"),
        (lambda story: story["statuses"][2]["status"].update(reason="Odd"), "says something new"),
        (lambda story: story["events"].pop(1), "event missing"),
        (lambda story: story["events"][1].update(count=2), "event not expected"),
        (lambda story: swap(story["events"], 1, 2), "event out of order"),
        (both_later(3.2), "instead of"),
        (lambda story: later(story["events"], 3, 3.2), "until the event"),
    ],
)
def test_decisions_of_the_kubelet_are_compared(change: Callable[[Story], object], reported: str) -> None:
    assert any(reported in line for line in changed("simple-notoken", change))


def test_two_consecutive_brief_statuses_must_not_be_missing() -> None:
    def drop(story: Story) -> None:
        del story["statuses"][2:4]  # two in sequence

    assert any("brief statuses missing" in line for line in changed("delete-at-once", drop))


def test_close_events_of_two_containers_may_swap() -> None:
    def change(gap: float) -> Callable[[Story], object]:
        def swapped(story: Story) -> None:
            last, first = story["events"][-2:]
            assert last["fieldPath"] != first["fieldPath"]
            story["events"][-2:] = [first | {"t": last["t"]}, last | {"t": last["t"] + gap}]

        return swapped

    assert changed("two-containers", change(0.1)) == []
    assert changed("two-containers", change(1.7))


def test_another_pod_is_a_difference() -> None:
    assert changed("simple-notoken", lambda story: [entry.update(pod="other") for entry in story["statuses"]])


def test_values_that_vary_between_runs_have_placeholders() -> None:
    assert comparable("pod_ns(0e3e8a5c-1111-2222-3333-444455556666) at 10.0.0.7:80") == "pod_ns(<uid>) at <ip>"
    assert comparable("Pulled in 1.5s (2.1s including waiting). Image size: 12 bytes.").startswith("Pulled in <took>")
    assert comparable(None) == ""

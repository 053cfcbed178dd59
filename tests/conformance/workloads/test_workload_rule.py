"""When a workload story counts as reproduced."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubesim.conformance.stories.story_files import read_story
from kubesim.conformance.workloads.workload_rule import workload_differences
from kubesim.conformance.workloads.workload_views import plain
from tests.support.corpora import DATA

Story = dict[str, Any]


def changed(name: str, change: Callable[[Story], object]) -> list[str]:
    """The differences of a story with one change."""
    reference = read_story(DATA / "workloads" / f"{name}.json.gz")
    produced = copy.deepcopy(reference)
    change(produced)
    return workload_differences(reference, produced)


def of(story: Story, kind: str, **fields: str) -> Iterator[Story]:
    """The changes of objects of a kind that have these values."""
    for change in story["changes"]:
        if change["kind"] == kind and all(change["object"].get(name) == value for name, value in fields.items()):
            yield change


def without(story: Story, kind: str, **fields: str) -> None:
    dropped = [id(change) for change in of(story, kind, **fields)]
    story["changes"] = [change for change in story["changes"] if id(change) not in dropped]


def later(story: Story, kind: str, by: float) -> None:
    for change in of(story, kind):
        change["t"] += by


@pytest.mark.parametrize(
    "change",
    [
        lambda story: None,
        lambda story: later(story, "Pod", 2.4),
        lambda story: later(story, "Event", 2.4),
        lambda story: without(story, "Event", reason="Started"),  # the kubelet's
        lambda story: next(of(story, "Pod"))["object"]["status"].update(podIP="10.1.2.3"),
        lambda story: story["changes"].append(list(of(story, "Event"))[-1]),  # repeated
    ],
)
def test_random_variations_are_ignored(change: Callable[[Story], object]) -> None:
    assert changed("deploy-scale", change) == []


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (lambda story: later(story, "Pod", 30), "created at"),
        (lambda story: without(story, "Event", reason="SuccessfulDelete"), "event missing"),
        (
            lambda story: next(of(story, "Event", reason="SuccessfulCreate"))["object"].update(reason="Odd"),
            "not expected",
        ),
        (lambda story: later(story, "Event", 40), "event at"),
        (lambda story: list(of(story, "ReplicaSet"))[-1]["object"]["spec"].update(replicas=7), "spec.replicas"),
        (lambda story: list(of(story, "Deployment"))[-1]["object"]["status"].update(readyReplicas=7), "Deployment web"),
        (lambda story: list(of(story, "Deployment"))[-1]["object"]["status"].update(conditions=[]), "Deployment web"),
        (lambda story: list(of(story, "Pod"))[-1]["object"]["status"].update(phase="Failed"), "last phase"),
    ],
)
def test_decisions_of_controllers_are_compared(change: Callable[[Story], object], reported: str) -> None:
    assert any(reported in line for line in changed("deploy-scale", change))


def test_the_number_of_pods_is_compared() -> None:
    def change(story: Story) -> None:
        name = next(of(story, "Pod"))["name"]
        story["changes"] = [each for each in story["changes"] if each["name"] != name]

    assert any("instead of" in line for line in changed("deploy-scale", change))


def test_endpoints_and_claims_are_compared() -> None:
    def never_terminating(story: Story) -> None:
        for slice in of(story, "EndpointSlice"):
            for point in slice["object"].get("endpoints") or ():
                point["conditions"]["terminating"] = False

    assert any("endpoints of" in line for line in changed("endpoints-terminating", never_terminating))
    bound = changed("pv-static", lambda story: without(story, "PersistentVolumeClaim"))
    assert any("phases of claims" in line for line in bound)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Created pod: web-6c9f8c4d7b-x2lz9", "Created pod: web-<rs>-<pod>"),
        ("Created pod: web-x2lz9", "Created pod: web-<pod>"),
        ("Created job slow-29384712", "Created job slow-<minute>"),
        (
            "Preempted by pod 0e3d9a9e-8a7b-4c5d-9e8f-0a1b2c3d4e5f on node real-0",
            "Preempted by pod <uid> on node real-0",
        ),
        (None, ""),
    ],
)
def test_random_parts_have_placeholders(text: str | None, shown: str) -> None:
    assert plain(text) == shown

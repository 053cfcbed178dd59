"""Recorded stories of a real node: a simulated node reproduces each with one of the seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesim.conformance.stories.playing import CannotPlay
from kubesim.conformance.stories.story_files import read_story, story_name
from kubesim.conformance.stories.story_player import play
from kubesim.conformance.stories.story_runner import run_stories
from tests.support.corpora import STORIES


@pytest.mark.parametrize("path", STORIES, ids=story_name)
def test_the_story_is_reproduced(path: Path) -> None:
    """The outcome depends on jitter and phases. Stories with a rare combination need many seeds: image-pull-fail (three
    long waits in a row) one in ten, startup-fail only seeds with a slow node (a restart that takes as long as a probe's
    period).
    """
    result = run_stories([path])
    assert result.passed == 1, "\n".join(line for failure in result.failures for line in failure.differences)


def test_all_stories_are_present() -> None:
    assert len({story_name(path) for path in STORIES}) == 46
    assert all(read_story(path)["statuses"] for path in STORIES)


def played(*actions: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "main", "image": "docker.io/library/busybox:1.36", "command": ["sleep", "1000"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "trace"},
        "spec": {"nodeName": "real-0", "terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    created = {"at": 0, "do": "create", "pod": "p"}
    return play({"name": "p", "manifests": [pod], "actions": [created, *actions], "endSeconds": 15}, 1)


def test_a_killed_sandbox_is_recreated() -> None:
    story = played({"at": 3, "do": "kill-sandbox", "pod": "p"})
    reasons = [event["reason"] for event in story["events"]]
    assert reasons[3:] == ["SandboxChanged", "Killing", "Pulled", "Created", "Started"]
    assert story["statuses"][-1]["status"]["containerStatuses"][0]["restartCount"] == 1


def test_an_evicted_pod_is_marked_and_deleted() -> None:
    *_, last = played({"at": 3, "do": "evict", "pod": "p"})["statuses"]
    assert last["type"] == "DELETED"
    assert any(condition["type"] == "DisruptionTarget" for condition in last["status"]["conditions"])


def test_an_unsupported_action_is_an_error() -> None:
    with pytest.raises(CannotPlay, match="the action 'set-clock' is not simulated"):
        played({"at": 3, "do": "set-clock"})

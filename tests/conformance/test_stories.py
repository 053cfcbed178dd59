"""What a real node did, story by story: a simulated node does the same with one of the seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesim.conformance.stories import CannotPlay, play
from kubesim.conformance.story_files import read_story, story_name
from kubesim.conformance.story_runner import run_stories

STORIES = sorted((Path(__file__).parent / "data" / "traces").glob("*.json.gz"))

_VOLUMES = "volumes of config maps are mounted at once, also if the config map is not there"

# Stories that are not reproduced yet, each with the cause. This list only gets shorter.
NOT_YET = {
    "configmap-missing": _VOLUMES,
    "configmap-missing-long": _VOLUMES,
    "delete-after-mount-fail": _VOLUMES,
    "image-pull-fail": "chance: seven jitters in a row must be long, which one seed in fifteen gives, none of the 20",
    "startup-fail": "the real node was slow: a restart took as long as the probe's period",
}


@pytest.mark.parametrize("path", [path for path in STORIES if story_name(path) not in NOT_YET], ids=story_name)
def test_the_story_is_reproduced(path: Path) -> None:
    result = run_stories([path])
    assert result.passed == 1, "\n".join(line for failure in result.failures for line in failure.differences)


@pytest.mark.parametrize("path", [path for path in STORIES if story_name(path) in NOT_YET], ids=story_name)
def test_what_is_reproduced_by_now_is_no_longer_listed(path: Path) -> None:
    assert run_stories([path]).failed == 1, f"{story_name(path)} is reproduced: take it off the list"


def test_the_stories_are_here() -> None:
    names = {story_name(path) for path in STORIES}
    assert len(names) == 46
    assert names >= NOT_YET.keys()
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


def test_a_killed_sandbox_is_made_anew() -> None:
    story = played({"at": 3, "do": "kill-sandbox", "pod": "p"})
    reasons = [event["reason"] for event in story["events"]]
    assert reasons[3:] == ["SandboxChanged", "Killing", "Pulled", "Created", "Started"]
    assert story["statuses"][-1]["status"]["containerStatuses"][0]["restartCount"] == 1


def test_an_evicted_pod_is_marked_and_deleted() -> None:
    *_, last = played({"at": 3, "do": "evict", "pod": "p"})["statuses"]
    assert last["type"] == "DELETED"
    assert any(condition["type"] == "DisruptionTarget" for condition in last["status"]["conditions"])


def test_what_is_not_simulated_is_said() -> None:
    with pytest.raises(CannotPlay, match="the action 'set-clock' is not simulated"):
        played({"at": 3, "do": "set-clock"})

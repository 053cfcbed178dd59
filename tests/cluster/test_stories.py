"""What a real API server answered, asked again here: status, message, reason, details, bodies, watch lines."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.timestamps import parse_time
from kubesim.cluster.rest import Request, handle
from tests.cluster.replay import Replay, read_stories

STORIES = read_stories("stories.jsonl.gz")
SHORT = read_stories("short.jsonl.gz")
NODES = ("node-a", "node-b", "wk-7", "wk-8")


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str) -> None:
    steps = STORIES[name]
    replay = Replay(steps[0]["namespace"], NODES, parse_time(steps[0]["server_time_start"]))
    replay.play(steps)
    assert not replay.problems, "\n".join(replay.problems)


@pytest.mark.parametrize(
    "names",
    [("minimal-pod-defaults",), ("errors-create",), ("update-patch", "kubelet-status"), ("delete",)],
    ids="+".join,
)
def test_short_story(names: tuple[str, ...]) -> None:
    replay = Replay("orc", ("fake-1",))
    for name in names:
        replay.play(SHORT[name])
    assert not replay.problems, "\n".join(replay.problems)


def test_a_difference_is_noticed() -> None:
    steps = [dict(step) for step in STORIES["pod-minimal"]]
    steps[1] = {**steps[1], "response": {**steps[1]["response"], "status": 202}}
    replay = Replay(steps[0]["namespace"], NODES, parse_time(steps[0]["server_time_start"]))
    replay.play(steps)
    assert len(replay.problems) == 1


class TestShortWatches:
    """The objects of this story were made by requests that were not recorded; they can be read off the lines."""

    def replay(self) -> Replay:
        return Replay("orc", ("fake-1",))

    def request(self, replay: Replay, method: str, path: str, body: str = "", content_type: str = "") -> None:
        headers = {"content-type": content_type} if content_type else {}
        response = handle(replay.store, Request(method, f"/api/v1/namespaces/orc/pods{path}", headers, body))
        assert response.status in (200, 201), response.body

    def pod(self, replay: Replay, name: str, more: str = "", labels: str = "") -> None:
        spec = f'{{"containers": [{{"name": "main", "image": "busybox"}}]{more}}}'
        self.request(replay, "POST", "", f'{{"metadata": {{"name": "{name}"{labels}}}, "spec": {spec}}}')

    def check(self, replay: Replay, step: dict[str, Any], *, bookmark: bool = False) -> None:
        """Compare what a watch from the beginning of the story shows."""
        step["request"]["path"] = step["request"]["path"].replace("=1111", f"={self.start}")
        stream = replay.send(step["request"]).stream
        assert stream is not None
        if bookmark:
            stream.bookmark()
        replay._compare("watch", step["response"]["watch"], stream.lines())
        assert not replay.problems, "\n".join(replay.problems)

    @pytest.mark.parametrize("number", [0, 1])
    def test_changes_from_a_version(self, number: int) -> None:
        replay = self.replay()
        self.start = replay.store.resource_version
        self.pod(replay, "w1")
        self.request(
            replay, "PATCH", "/w1", '{"metadata": {"labels": {"a": "b"}}}', "application/merge-patch+json"
        )  # fmt: skip
        self.request(replay, "DELETE", "/w1")
        self.pod(replay, "w2", ', "nodeName": "fake-1"')
        self.request(replay, "DELETE", "/w2")
        self.request(replay, "DELETE", "/w2?gracePeriodSeconds=0")
        self.check(replay, SHORT["watch"][number], bookmark=number == 0)

    def test_a_pod_leaves_the_selection(self) -> None:
        replay = self.replay()
        self.start = 0
        step = SHORT["watch"][3]
        stream = replay.send(step["request"]).stream
        assert stream is not None
        self.pod(replay, "w4", labels=', "labels": {"sel": "1"}')
        self.request(
            replay, "PATCH", "/w4", '{"metadata": {"labels": {"sel": null}}}', "application/merge-patch+json"
        )  # fmt: skip
        replay._compare("watch", step["response"]["watch"], stream.lines())
        assert not replay.problems, "\n".join(replay.problems)

    def test_version_zero_begins_with_what_is_there(self) -> None:
        replay = self.replay()
        self.start = 0
        self.pod(replay, "w5")
        self.check(replay, SHORT["watch"][6])

    @pytest.mark.parametrize("number", [7, 8])
    def test_refusals(self, number: int) -> None:
        replay = self.replay()
        step = SHORT["watch"][number]
        replay.compare("watch", {**step["response"], "warnings": []}, replay.send(step["request"]))
        assert not replay.problems, "\n".join(replay.problems)

"""From the mux to the sync loop: a snapshot that the loop ignores, and a closed channel."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.played import Played, pod

SNAPSHOT = {"notificationMode": "snapshot"}


@pytest.mark.parametrize("profile", ["v1.6", "v1.12", "v1.30", "v1.35"])
def test_a_snapshot_starts_no_pod(profile: str) -> None:
    played = Played(profile=profile, sources=SNAPSHOT, objects=[pod("web")], duration="30s")
    assert played.calls("web") == []
    assert "Kubelet does not support snapshot update" in played.notes()


def test_a_snapshot_marks_its_source_as_seen() -> None:
    """The kubelet therefore kills the pods it finds: it knows of no desired pod."""
    there, back = {"at": "10s", "upgrade": "v1.36"}, {"at": "40s", "upgrade": "v1.12"}
    played = Played(there, back, profile="v1.12", sources=SNAPSHOT, objects=[pod("web")])
    assert 12 < played.starts("web")[0] < 20
    assert 42 < played.stops("web")[0] < 50


def test_current_kubelets_have_no_modes() -> None:
    with pytest.raises(ValidationError, match=r"notificationMode exists in profiles until v1\.35, not in v1\.36"):
        Played(sources=SNAPSHOT)


CLOSED = ({"at": "20s", "stop": "config"}, {"at": "30s", "kill": {"pod": "web"}})


def closed(*steps: dict[str, Any], profile: str = "v1.36") -> Played:
    return Played(*CLOSED, *steps, profile=profile, objects=[pod("web")], duration="10m")


def test_the_loop_ends_with_its_channel() -> None:
    played = closed({"at": "40s", "delete": {"pod": "web"}})
    assert "Update channel is closed, exiting the sync loop" in played.notes()
    assert played.calls("web", after=20) == [], "nothing is restarted and nothing is stopped"
    assert played.result.phases == {"default/web": "Running"}


def test_an_older_loop_still_handles_container_deaths() -> None:
    played = closed({"at": "40s", "delete": {"pod": "web"}}, profile="v1.12")
    assert [30 < t < 36 for t in played.starts("web")[1:]] == [True]
    assert played.calls("web", after=40) == []


def test_the_next_kubelet_has_an_open_channel() -> None:
    played = closed({"at": "60s", "restart": "kubelet"})
    assert 60 < played.starts("web")[1] < 70


def test_a_closed_channel_cannot_be_closed_or_opened() -> None:
    again = closed({"at": "60s", "stop": "config"})
    assert "the config of node node-1 is not running" in again.result.expectations_failed[0]
    with pytest.raises(ValidationError, match="restart the kubelet"):
        Played({"at": "1s", "start": "config"})

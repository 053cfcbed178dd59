"""Mirror pods as a user sees them: created, kept, changed and deleted with their static pods."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.trace.records import CriCall, StatusSet
from tests.support.played import Played, pod

MIRROR = "web-node-1"


def write(at: str, manifest: Any, file: str = "web.yaml") -> dict[str, Any]:
    return {"at": at, "writeStaticPod": {"file": file, "manifest": manifest}}


def remove(at: str, file: str = "web.yaml") -> dict[str, Any]:
    return {"at": at, "removeStaticPod": {"file": file}}


def delete(at: str, name: str, **options: int) -> dict[str, Any]:
    return {"at": at, "delete": {"pod": name, **options}}


def test_a_static_pod_runs_and_its_mirror_has_its_status() -> None:
    story = Played(write("5s", pod("web")))
    assert story.result.phases == {f"default/{MIRROR}": "Running"}
    assert story.calls() == ["RunPodSandbox", "CreateContainer", "StartContainer"]


def test_a_deleted_mirror_pod_is_recreated_and_containers_are_not_affected() -> None:
    story = Played(write("5s", pod("web")), delete("20s", MIRROR))
    assert story.calls(after=15) == []
    assert story.result.phases == {f"default/{MIRROR}": "Running"}


def test_a_mirror_pod_deleted_immediately_is_recreated_too() -> None:
    story = Played(write("5s", pod("web")), delete("20s", MIRROR, gracePeriodSeconds=0))
    assert story.calls(after=15) == []
    assert story.result.phases == {f"default/{MIRROR}": "Running"}


def test_a_new_definition_first_ends_the_old_pod_and_then_replaces_its_mirror() -> None:
    """The new worker retries after ten to fifteen seconds."""
    story = Played(write("5s", pod("web")), write("20s", pod("web", image="busybox:2")))
    assert story.calls(after=15)[:2] == ["StopContainer", "StopPodSandbox"]
    (_, started) = story.when(CriCall, MIRROR, call="StartContainer")
    assert 30 < started < 37
    assert story.result.phases == {f"default/{MIRROR}": "Running"}


def test_an_unchanged_file_changes_nothing() -> None:
    story = Played(write("5s", pod("web")), write("20s", pod("web")))
    assert story.calls(after=15) == []
    assert story.writes(after=15) == []


def test_the_mirror_pod_is_deleted_with_the_file_and_never_gets_a_final_phase() -> None:
    story = Played(write("5s", pod("web")), remove("20s"))
    assert story.calls(after=15)[:2] == ["StopContainer", "StopPodSandbox"]
    assert story.result.phases == {f"default/{MIRROR}": "Running"}  # the phase of a static pod is not final
    gone = Played(write("5s", pod("web")), remove("20s"), expect=[{"pod": MIRROR, "gone": True, "by": "25s"}])
    assert gone.result.ok


def test_an_unusable_manifest_is_reported_once_and_does_not_affect_others() -> None:
    story = Played(write("5s", "kind: Nonsense", "bad.yaml"), write("6s", pod("web")))
    reported = [note for note in story.notes() if "can't process config file" in note]
    assert len(reported) == 1
    assert "/etc/kubernetes/manifests/bad.yaml" in reported[0]
    assert story.result.phases == {f"default/{MIRROR}": "Running"}


def test_hidden_files_are_not_manifests() -> None:
    assert Played(write("5s", pod("web"), ".web.yaml")).result.phases == {}


def test_removing_one_of_two_files_with_the_same_pod_removes_the_pod_until_the_next_check() -> None:
    """The source identifies pods by name, not by file; every 20 s it reads all files again."""
    other = pod("web", image="busybox:2")
    story = Played(write("1s", pod("web"), "a.yaml"), write("2s", other, "b.yaml"), remove("30s", "a.yaml"))
    assert story.when(CriCall, MIRROR, call="StopContainer")[-1] == pytest.approx(30, abs=0.1)
    assert any(moment > 40 for moment in story.when(CriCall, MIRROR, call="StartContainer"))


def test_existing_manifests_are_on_every_node() -> None:
    nodes = [{"name": "a"}, {"name": "b"}]
    story = Played(nodes=nodes, sources={"file": {"manifests": {"web.yaml": pod("web")}}}, duration="10s")
    assert story.result.phases == {"default/web-a": "Running", "default/web-b": "Running"}


def test_statuses_of_a_new_mirror_pod_are_those_of_the_static_pod() -> None:
    """The kubelet's version of the status does not change if only the mirror pod is new."""
    story = Played(write("5s", pod("web")), delete("20s", MIRROR))
    versions = story.when(StatusSet, MIRROR)
    assert not [moment for moment in versions if moment > 20]
    assert "patch pods/status" in story.writes(MIRROR, after=20)

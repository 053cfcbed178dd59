"""A kubelet of v1.12 starts checkpointed pods before it reaches its API server (RESTORE)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.sources.checkpoint import ANNOTATION
from kubesim.trace.records import ConfigUpdate, CriCall, Handler
from tests.support.played import Played, pod


def kept(name: str, **spec: Any) -> dict[str, Any]:
    """A pod without a token: a projected token volume would wait for the API server."""
    manifest = pod(name, automountServiceAccountToken=False, **spec)
    manifest["metadata"]["annotations"] = {ANNOTATION: "true"}
    return manifest


def story(*steps: dict[str, Any], **spec: Any) -> Played:
    settings: dict[str, Any] = {"profile": "v1.12", "sources": {"bootstrapCheckpoint": {}}, "duration": "90s", **spec}
    return Played(*steps, **settings)


def operations(played: Played) -> list[tuple[float, str, tuple[str, ...]]]:
    found = [record for record in played.records if isinstance(record, ConfigUpdate) and record.source == "api"]
    return [(record.t / 1_000_000, record.op, record.pods) for record in found]


REBOOT_WITHOUT_API = (
    {"at": "10s", "stop": "apiserver"},
    {"at": "11s", "reboot": {"what": "node", "downFor": "5s"}},
    {"at": "40s", "start": "apiserver"},
)


def test_pods_are_started_before_the_api_server_answers() -> None:
    played = story(*REBOOT_WITHOUT_API, objects=[kept("kept"), pod("lost")])
    restored = [(op, pods) for t, op, pods in operations(played) if t > 11]
    assert restored[0] == ("RESTORE", ("default/kept",))
    assert restored[1][0] == "ADD"
    assert set(restored[1][1]) == {"default/kept", "default/lost"}
    started = played.when(CriCall, "kept", call="StartContainer")
    assert len(started) == 2
    assert 16 < started[1] < 20, "long before the API server could be asked"
    assert 40 < played.when(CriCall, "lost", call="StartContainer")[1] < 45
    assert played.result.phases == {"default/kept": "Running", "default/lost": "Running"}


def test_a_restored_pod_runs_once_although_it_is_added_again() -> None:
    played = story(*REBOOT_WITHOUT_API, objects=[kept("kept")])
    assert played.calls("kept", after=11).count("StartContainer") == 1
    assert "StopContainer" not in played.calls("kept", after=11)


def test_no_clean_up_before_the_api_server_reported() -> None:
    steps = (
        {"at": "10s", "stop": "apiserver"},
        {"at": "11s", "restart": {"what": "kubelet", "downFor": "2s"}},
        {"at": "20s", "delete": {"pod": "lost", "gracePeriodSeconds": 0}},
        {"at": "40s", "start": "apiserver"},
    )
    played = story(*steps, objects=[kept("kept"), pod("lost")])
    cleanups = [t for t in played.when(Handler, name="HandlePodCleanups") if t > 11]
    assert cleanups
    assert min(cleanups) > 40


def test_a_pod_deleted_while_the_api_server_was_down_stays() -> None:
    """As in v1.12: the source never reported the pod to this kubelet, so it cannot remove it."""
    steps = (*REBOOT_WITHOUT_API, {"at": "20s", "delete": {"pod": "kept", "gracePeriodSeconds": 0}})
    played = story(*steps, objects=[kept("kept")])
    assert len(played.when(CriCall, "kept", call="StartContainer")) == 2
    assert [op for t, op, _ in operations(played) if t > 11] == ["RESTORE", "ADD"]
    assert "StopContainer" not in played.calls("kept", after=16)


def test_without_a_restart_no_pod_is_restored() -> None:
    played = story(objects=[kept("kept")])
    assert {op for _, op, _ in operations(played)} <= {"ADD", "RECONCILE", "UPDATE"}


def test_checkpoints_in_a_real_directory_outlive_a_run(tmp_path: Path) -> None:
    sources = {"bootstrapCheckpoint": {"path": str(tmp_path)}}
    story(objects=[kept("kept")], sources=sources, duration="20s")
    assert [path.name.startswith("Pod_") for path in tmp_path.iterdir()] == [True]
    again = story({"at": "5s", "restart": "kubelet"}, sources=sources, duration="20s")
    assert ("RESTORE", ("default/kept",)) in [(op, pods) for _, op, pods in operations(again)]


def test_it_is_limited_to_v1_12() -> None:
    with pytest.raises(ValidationError, match=r"bootstrapCheckpoint exists only in profile v1\.12"):
        story(profile="v1.36")

"""How the mux reports: the rows of v1.12's config_test.go that are about its modes."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.sources.modes import NotificationMode, in_mode
from kubesim.sources.mux import PodConfig, PodUpdate


def pod(name: str, *, image: str = "i", phase: str = "", **meta: Any) -> Pod:
    return Pod.from_json(
        {
            "metadata": {"name": name, "namespace": "ns", "uid": name, **meta},
            "spec": {"containers": [{"name": "c", "image": image}]},
            "status": {"phase": phase} if phase else {},
        }
    )


def operations(updates: list[PodUpdate]) -> list[tuple[str, list[str]]]:
    return [(update.op, [p.metadata.uid for p in update.pods]) for update in updates]


MODES: tuple[NotificationMode, ...] = ("incremental", "snapshot", "snapshotAndUpdates")


class Config:
    """A mux in a mode; each call returns operations with the uids of their pods."""

    def __init__(self, mode: NotificationMode) -> None:
        self.mode, self.mux = mode, PodConfig(["test"])

    def set(self, *pods: Pod) -> list[tuple[str, list[str]]]:
        updates = self.mux.merge("test", pods, 0)
        return operations(in_mode(self.mode, updates, self.mux.merged_state))


@pytest.mark.parametrize(("mode", "operation"), [*zip(MODES, ("ADD", "SET", "SET"), strict=True)])
def test_an_empty_first_report_is_sent_once(mode: NotificationMode, operation: str) -> None:
    config = Config(mode)
    assert config.set() == [(operation, [])]
    assert config.set() == []
    assert config.set(pod("u")) == [(operation, ["u"])]


@pytest.mark.parametrize(
    ("mode", "added", "changed", "deleted", "removed"),
    [
        ("incremental", [("ADD", ["b"])], [("UPDATE", ["b"])], [("DELETE", ["b"])], [("REMOVE", ["b"])]),
        ("snapshot", [("SET", ["a", "b"])], [("SET", ["a", "b"])], [("SET", ["a", "b"])], [("SET", ["a"])]),
        ("snapshotAndUpdates", [("SET", ["a", "b"])], [("UPDATE", ["b"])], [("DELETE", ["b"])], [("SET", ["a"])]),
    ],
)
def test_a_pod_is_added_changed_and_removed(
    mode: NotificationMode,
    added: list[tuple[str, list[str]]],
    changed: list[tuple[str, list[str]]],
    deleted: list[tuple[str, list[str]]],
    removed: list[tuple[str, list[str]]],
) -> None:
    config, other = Config(mode), pod("a")
    config.set(other)
    assert config.set(other, pod("b")) == added
    assert config.set(other, pod("b", image="new")) == changed
    ending = pod("b", image="new", deletionTimestamp="2026-01-01T00:00:00Z")
    assert config.set(other, ending) == deleted
    assert config.set(other) == removed


@pytest.mark.parametrize("mode", MODES)
def test_only_the_incremental_mode_reports_a_changed_status(mode: NotificationMode) -> None:
    config = Config(mode)
    config.set(pod("u"))
    assert config.set(pod("u", phase="Running")) == ([("RECONCILE", ["u"])] if mode == "incremental" else [])


@pytest.mark.parametrize("mode", MODES)
def test_additions_and_removals_in_one_report(mode: NotificationMode) -> None:
    """Two removals and additions at once are still one snapshot, before the updates."""
    config = Config(mode)
    config.set(pod("a"), pod("b"), pod("c"))
    found = config.set(pod("b", image="new"), pod("c"), pod("d"))
    assert (
        found
        == {
            "incremental": [("REMOVE", ["a"]), ("ADD", ["d"]), ("UPDATE", ["b"])],
            "snapshot": [("SET", ["b", "c", "d"])],
            "snapshotAndUpdates": [("SET", ["b", "c", "d"]), ("UPDATE", ["b"])],
        }[mode]
    )

"""How the mux reports: the rows of v1.12's config_test.go that are about its modes."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Pod
from kubesim.sources.modes import NotificationMode, in_mode
from kubesim.sources.mux import PodConfig
from tests.sources.test_mux import operations, pod

MODES: tuple[NotificationMode, ...] = ("incremental", "snapshot", "snapshotAndUpdates")


class Config:
    """A mux in a mode; each call answers operations with the uids of their pods."""

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
    assert config.set(pod()) == [(operation, ["u"])]


@pytest.mark.parametrize(
    ("mode", "added", "changed", "deleted", "removed"),
    [
        ("incremental", [("ADD", ["b"])], [("UPDATE", ["b"])], [("DELETE", ["b"])], [("REMOVE", ["b"])]),
        ("snapshot", [("SET", ["a", "b"])], [("SET", ["a", "b"])], [("SET", ["a", "b"])], [("SET", ["a"])]),
        ("snapshotAndUpdates", [("SET", ["a", "b"])], [("UPDATE", ["b"])], [("DELETE", ["b"])], [("SET", ["a"])]),
    ],
)
def test_a_pod_comes_changes_and_goes(
    mode: NotificationMode,
    added: list[tuple[str, list[str]]],
    changed: list[tuple[str, list[str]]],
    deleted: list[tuple[str, list[str]]],
    removed: list[tuple[str, list[str]]],
) -> None:
    config, other = Config(mode), pod("a", "a")
    config.set(other)
    assert config.set(other, pod("b", "b")) == added
    assert config.set(other, pod("b", "b", image="new")) == changed
    ending = pod("b", "b", image="new", deletionTimestamp="2026-01-01T00:00:00Z")
    assert config.set(other, ending) == deleted
    assert config.set(other) == removed


@pytest.mark.parametrize("mode", MODES)
def test_only_the_incremental_mode_reports_a_changed_status(mode: NotificationMode) -> None:
    config = Config(mode)
    config.set(pod())
    assert config.set(pod(phase="Running")) == ([("RECONCILE", ["u"])] if mode == "incremental" else [])


@pytest.mark.parametrize("mode", MODES)
def test_additions_and_removals_of_one_report(mode: NotificationMode) -> None:
    """Two removals and additions at once are still one snapshot, before the updates."""
    config = Config(mode)
    config.set(pod("a", "a"), pod("b", "b"), pod("c", "c"))
    found = config.set(pod("b", "b", image="new"), pod("c", "c"), pod("d", "d"))
    assert (
        found
        == {
            "incremental": [("REMOVE", ["a"]), ("ADD", ["d"]), ("UPDATE", ["b"])],
            "snapshot": [("SET", ["b", "c", "d"])],
            "snapshotAndUpdates": [("SET", ["b", "c", "d"]), ("UPDATE", ["b"])],
        }[mode]
    )

"""The lifecycle of each pod as bands: each state with its start and end."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.trace import records as r
from kubesim.trace.lanes.axis import ticks
from kubesim.trace.lanes.bands import Band, container_band, pod_lanes

SECOND = 1_000_000


def status(t: int, seq: int, phase: str, **summary: Any) -> r.ApiWrite:
    return r.ApiWrite(
        t=t, seq=seq, pod="default/web", node="n", verb="patch", resource="pods/status", by="kubelet",
        summary={"phase": phase, **summary},
    )  # fmt: skip


def container(state: str, *, ready: bool = False, restarts: int = 0) -> dict[str, Any]:
    return {"state": state, "ready": ready, "started": ready, "restartCount": restarts}


def test_a_phase_lasts_until_the_next_one_and_the_last_until_the_end() -> None:
    [pod] = pod_lanes([status(0, 1, "Pending"), status(2, 2, "Pending"), status(5, 3, "Running")], 9)
    assert (pod.pod, pod.node) == ("default/web", "n")
    [phase] = pod.lanes
    assert phase.bands == (Band(0, 5, "Pending", "waiting", 1), Band(5, 9, "Running", "running", 3))


def test_a_condition_that_is_removed_ends_its_band() -> None:
    records = [status(0, 1, "Running", conditions={"Ready": "True"}), status(4, 2, "Running")]
    [pod] = pod_lanes(records, 9)
    assert [(lane.kind, lane.name, lane.bands[-1].end) for lane in pod.lanes] == [
        ("phase", "", 9),
        ("condition", "Ready", 4),
    ]


def test_all_bands_end_when_the_kubelet_deletes_the_pod() -> None:
    gone = r.ApiWrite(t=7, seq=2, pod="default/web", verb="delete", resource="pods", by="kubelet")
    [pod] = pod_lanes([status(0, 1, "Running"), gone], 9)
    assert [band.end for lane in pod.lanes for band in lane.bands] == [7]


def test_the_result_of_a_probe_is_lost_with_the_kubelet() -> None:
    probe = r.ProbeOutcome(t=1, seq=2, pod="default/web", node="n", container="c", probe="readiness", result="success")
    killed = r.Note(t=3, seq=3, node="n", text="the kubelet is killed")
    [pod] = pod_lanes([status(0, 1, "Running"), probe, killed], 9)
    assert pod.lanes[-1].name == "c readiness"
    assert pod.lanes[-1].bands == (Band(1, 3, "success", "good", 2),)


@pytest.mark.parametrize(
    ("state", "band"),
    [
        (container("running", ready=True), ("running, ready", "good")),
        (container("running", restarts=2), ("running, not ready (restart 2)", "running")),
        (container("waiting/ContainerCreating"), ("waiting/ContainerCreating", "waiting")),
        (container("waiting/CrashLoopBackOff"), ("waiting/CrashLoopBackOff", "bad")),
        (container("terminated/0/Completed"), ("terminated/0/Completed", "done")),
        (container("terminated/1/Error"), ("terminated/1/Error", "bad")),
        (container(""), ("not started", "waiting")),
    ],
)
def test_the_state_of_a_container_has_a_text_and_a_tone(state: dict[str, Any], band: tuple[str, str]) -> None:
    assert container_band(state) == band


def test_there_are_few_ticks_and_they_are_at_round_times() -> None:
    assert ticks(300 * SECOND)[:3] == [(0, "0s"), (30 * SECOND, "30s"), (60 * SECOND, "1m")]
    assert ticks(3 * 3600 * SECOND)[-1] == (3 * 3600 * SECOND, "3h")
    for end in (1, 999, 12_345, 7 * SECOND, 86_400 * SECOND, 40 * 86_400 * SECOND):
        assert 1 <= len(ticks(end)) <= 11

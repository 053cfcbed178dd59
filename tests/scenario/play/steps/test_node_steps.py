"""Steps on a node: files, processes, hanging containers and calls, a cut connection, a clock that jumps."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from kubesim.trace.records import ApiWrite, CriReturn, LogOutput, Note
from tests.support.played import Played, container, pod


def failures(story: Played) -> list[str]:
    return [f"{failure.text}: {failure.why}" for failure in story.result.failures]


def notes(story: Played) -> list[str]:
    return [record.text for record in story.records if isinstance(record, Note)]


def reader() -> dict[str, Any]:
    main = container("main", "while cat /srv/a; do sleep 3; done; exit 3")
    main["volumeMounts"] = [{"name": "srv", "mountPath": "/srv"}]
    volumes = [{"name": "srv", "hostPath": {"path": "/srv"}}]
    return pod("reader", volumes=volumes, containers=[main], restartPolicy="Never")


def test_files_of_the_node_are_written_and_removed() -> None:
    story = Played(
        {"at": "10s", "writeFile": {"path": "/srv/a", "text": "two\n"}},
        {"at": "20s", "removeFile": {"path": "/srv/a"}},
        objects=[reader()],
        nodes=[{"name": "node-1", "files": {"/srv/a": "one\n"}}],
        expect=[{"pod": "reader", "phase": "Failed"}],
    )
    lines = [record.text for record in story.records if isinstance(record, LogOutput) and record.stream == "stdout"]
    assert list(dict.fromkeys(lines)) == ["one", "two"]
    assert story.result.ok


def test_removing_a_missing_file_fails() -> None:
    story = Played({"at": "1s", "removeFile": {"path": "/srv/b"}})
    assert failures(story) == ["step at 1s: removeFile: there is no file /srv/b on node node-1"]


def test_a_process_of_a_container_is_killed() -> None:
    web = pod("web", command=["sh", "-c", "sleep 500 & wait $!"])
    story = Played({"at": "10s", "kill": {"pod": "web", "process": "sleep 500"}}, objects=[web])
    assert "container main ended with exit code 137 (Error)" in notes(story)
    missing = Played({"at": "10s", "kill": {"pod": "web", "process": "java"}}, objects=[web])
    assert failures(missing) == ["step at 10s: kill: container main of pod web has no process 'java'"]


def test_a_behaviour_has_no_processes_to_kill() -> None:
    step = {"at": "10s", "kill": {"pod": "web", "process": "sleep"}}
    story = Played(step, objects=[pod("web")], behaviours=[{"pod": "web"}])
    [failure] = failures(story)
    assert "does not run its command line" in failure


def probed() -> dict[str, Any]:
    main = container("main", ports=[{"containerPort": 80}])
    main["command"] = ["server"]
    main["readinessProbe"] = {"httpGet": {"port": 80}, "periodSeconds": 2, "failureThreshold": 1}
    main["livenessProbe"] = {"exec": {"command": ["true"]}, "periodSeconds": 5}
    return pod("web", containers=[main])


@pytest.mark.parametrize("behaviours", [[], [{"pod": "web"}]])
def test_a_paused_container_answers_nothing_and_is_killed_after_its_grace_period(behaviours: list[Any]) -> None:
    story = Played(
        {"at": "10s", "hang": {"pod": "web", "for": "40s"}},
        objects=[probed()],
        behaviours=behaviours,
        expect=[{"pod": "web", "condition": "Ready=False"}, {"pod": "web", "restartCount": 1}],
        duration="2m",
    )
    assert story.result.ok
    assert "container main ended with exit code 137 (Error)" in notes(story)  # TERM had no effect


def test_a_continued_container_gets_its_signals() -> None:
    story = Played(
        {"at": "10s", "hang": {"pod": "web", "for": "3s"}},
        {"at": "11s", "delete": {"pod": "web"}},
        objects=[pod("web")],
    )
    ended = next(r for r in story.records if isinstance(r, Note) and "ended with exit code 0" in r.text)
    assert ended.t == 13_000_000


def test_hanging_calls_return_at_the_end_of_the_hang() -> None:
    story = Played({"at": "0s", "hang": {"call": "StartContainer", "pod": "web", "for": "20s"}},
                   objects=[pod("web"), pod("other")])  # fmt: skip
    started = {r.pod: r.t for r in story.records if isinstance(r, CriReturn) and r.call == "StartContainer"}
    assert started["default/other"] < 2_000_000
    assert 20_000_000 < started["default/web"] < 20_200_000


def test_a_cut_connection_is_restored() -> None:
    story = Played({"at": "10s", "cut": "20s"}, {"at": "15s", "kill": {"pod": "web"}}, objects=[pod("web")])
    assert notes(story)[-1] == "the API server can be reached again"
    writes = [r.t for r in story.records if r.KIND == "api.write" and r.pod and r.t > 12_000_000]
    assert writes
    assert min(writes) > 30_000_000


def test_a_clock_set_forward_ends_a_back_off_and_affects_timestamps() -> None:
    crash = pod("crash", command=["sh", "-c", "sleep 3; exit 1"])
    jumping = {"at": "7s", "clockJump": "1h"}
    story = Played(jumping, objects=[crash], expect=[{"pod": "crash", "restartCount": 2, "by": "15s"}])
    assert story.result.ok
    plain = Played(objects=[crash], expect=[{"pod": "crash", "restartCount": 2, "by": "15s"}])
    assert not plain.result.ok


def test_a_clock_set_back_stops_the_restart_count() -> None:
    """The dead container seems newer than its successors."""
    crash = pod("crash", command=["sh", "-c", "sleep 1; exit 1"])
    story = Played({"at": "3s", "clockJump": {"by": "-1h"}}, objects=[crash], duration="3m",
                   expect=[{"pod": "crash", "restartCount": 2, "never": True}])  # fmt: skip
    assert story.result.ok
    assert story.calls("crash").count("StartContainer") > 2
    assert "its clock is set back by 1h0m0s" in notes(story)


@pytest.mark.parametrize(
    "step",
    [
        {"writeFile": {"path": "/etc/a", "text": "b"}},
        {"removeFile": {"path": "/etc/hosts"}},
        {"clockJump": "1h"},
        {"hang": {"for": "1s"}},
        {"flush": "routes"},
    ],
    ids=lambda step: next(iter(step)),
)
def test_steps_on_a_node_that_is_off_fail(step: dict[str, Any]) -> None:
    story = Played({"at": "5s", "reboot": {"downFor": "20s"}}, {"at": "10s", **step})
    assert failures(story) == [f"step at 10s: {next(iter(step))}: node node-1 is powered off"]


def test_flush_needs_real_networks() -> None:
    story = Played({"at": "1s", "flush": "routes"})
    assert failures(story) == ["step at 1s: flush: node node-1 has no private network: flush needs runtime: cni"]


def test_steps_of_the_same_run_give_the_same_trace() -> None:
    def lines() -> list[str]:
        steps: list[dict[str, Any]] = [
            {"at": "10s", "hang": {"pod": "web", "for": "15s"}},
            {"at": "12s", "clockJump": "5m"},
        ]
        return [json.dumps(record.to_json()) for record in Played(*steps, objects=[probed()]).records]

    assert lines() == lines()


def test_a_disconnected_node_neither_writes_its_status_nor_sees_changes() -> None:
    """The kubelet's informer is disconnected too: it sees Ready=Unknown only after reconnecting."""
    story = Played({"at": "10s", "cut": {"for": "1m"}}, objects=[pod("web")], duration="2m")
    unknown, ready = story.when(ApiWrite, resource="nodes/status")
    assert 50 < unknown < 66  # by the node controller
    assert 70 < ready < 85
    assert not [note for note in story.notes() if "update of the node status" in note]


def test_a_failed_update_is_retried_five_times_every_ten_seconds() -> None:
    steps = [
        {"at": "10s", "cut": {"for": "35s"}},
        {"at": "12s", "pressure": {"memory.available": "50Mi"}},
    ]
    story = Played(*steps, objects=[pod("web")], duration="1m30s")
    tries = [r for r in story.records if isinstance(r, Note) and "update of the node status" in r.text]
    assert {r.text.partition(", ")[2] for r in tries} == {
        f"try {number} of 5: dial tcp 10.0.0.100:6443: connect: connection refused" for number in range(1, 6)
    }
    moments = sorted({r.t // 1_000_000 for r in tries})
    assert len(tries) == 5 * len(moments)
    assert [later - earlier for earlier, later in itertools.pairwise(moments)] == [10] * (len(moments) - 1)
    writes = [r for r in story.records if isinstance(r, ApiWrite) and r.resource == "nodes/status"]
    assert all(r.t > 45_000_000 for r in writes)
    assert writes[0].summary["MemoryPressure"] == "True"

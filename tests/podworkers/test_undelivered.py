"""Workers without states: which update waits, which one is dropped, and when a pod has ended."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.podworkers.state import PodWork, UpdateDecision
from kubesim.podworkers.undelivered import PodKnowledge, UndeliveredUpdates, has_ended
from kubesim.podworkers.updates import KillPodOptions, SyncPodType, UpdatePodOptions
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus

SECOND = 1_000_000
RUNNING = {"name": "c", "state": {"running": {}}}
WAITING = {"name": "c", "state": {"waiting": {}}}
TERMINATED = {"name": "c", "state": {"terminated": {"exitCode": 1}}}
DELETED: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 10}


def make_pod(version: int = 1, phase: str = "Running", containers: Any = (RUNNING,), **metadata: Any) -> Pod:
    metadata = {"uid": "u", "name": "p", "namespace": "ns", "generation": version, **metadata}
    return Pod.from_json({"metadata": metadata, "status": {"phase": phase, "containerStatuses": list(containers)}})


class Table(UndeliveredUpdates):
    """One pod that the kubelet knows, with its reported status and its state in the runtime."""

    def __init__(self, known: Pod | None = None, *, running: bool = False, removes_records: bool = True) -> None:
        self.known, self.reported = known, None if known is None else known.status
        self.running = running
        self.terminated: list[Pod] = []
        knowledge = PodKnowledge(lambda uid: self.known, self.status_of, self.observed, self.terminated.append)
        super().__init__(knowledge, removes_records=removes_records)

    def status_of(self, uid: str) -> PodStatus | None:
        return self.reported

    def observed(self, uid: str) -> RuntimePodStatus:
        return RuntimePodStatus(uid, containers=(ContainerRecord("c", "c", "running"),) if self.running else ())

    def tell(self, pod: Pod, update: SyncPodType = "update", kill: KillPodOptions | None = None) -> UpdateDecision:
        return self.update_pod(UpdatePodOptions(update, pod, kill=kill), 1, self.observed)

    def begin(self) -> tuple[SyncPodType, int]:
        """The type and the pod generation of the work that starts."""
        work = self.start_pod_sync("u", 1)
        assert isinstance(work, PodWork)
        assert work.work_type == "sync"
        assert work.options.pod is not None
        return work.options.update_type, work.options.pod.metadata.generation


def test_three_updates_during_a_sync_cause_one_more_sync() -> None:
    table = Table()
    table.tell(make_pod(1), "create")
    assert table.begin() == ("create", 1)
    for version in (2, 3, 4):
        assert not table.tell(make_pod(version)).cancel
    assert table.complete_work("u")
    assert table.begin() == ("update", 4)
    assert not table.complete_work("u")


def test_an_update_before_the_worker_has_started_the_first_is_a_second_sync() -> None:
    table = Table()
    table.tell(make_pod(1), "create")
    table.tell(make_pod(2))
    assert table.begin() == ("create", 1)
    assert table.complete_work("u")
    assert table.begin() == ("update", 2)


def test_nothing_replaces_a_pending_kill() -> None:
    table = Table()
    table.tell(make_pod(1), "create")
    table.begin()
    table.tell(make_pod(2), "kill", KillPodOptions())
    refused = table.tell(make_pod(3), "kill", KillPodOptions())
    assert not table.tell(make_pod(4)).accepted
    assert not refused.accepted
    assert table.complete_work("u")
    assert table.begin() == ("kill", 2)


def test_a_deletion_is_a_sync_and_a_shorter_grace_period_cancels_nothing() -> None:
    table = Table()
    table.tell(make_pod(1), "create")
    table.begin()
    table.complete_work("u")
    first = table.tell(make_pod(2, **DELETED))
    assert table.begin() == ("update", 2)
    second = table.tell(make_pod(3, **{**DELETED, "deletionGracePeriodSeconds": 1}))
    assert (first.cancel, first.terminating, second.cancel) == (False, "", False)


@pytest.mark.parametrize(
    ("phase", "containers", "metadata", "ended"),
    [
        ("Running", [RUNNING], {}, False),
        ("Running", [TERMINATED], {}, False),
        ("Succeeded", [TERMINATED], {}, True),
        ("Failed", [RUNNING], {}, True),
        ("Running", [RUNNING, TERMINATED], DELETED, False),
        ("Running", [WAITING, TERMINATED], DELETED, True),
        ("Pending", [], DELETED, True),
    ],
)
def test_a_pod_has_ended(phase: str, containers: Any, metadata: Any, ended: bool) -> None:
    pod = make_pod(phase=phase, containers=containers, **metadata)
    assert has_ended(pod, None) == ended
    assert has_ended(make_pod(**metadata), pod.status) == ended


def test_a_pod_that_has_ended_does_not_reach_its_worker() -> None:
    table = Table(make_pod(phase="Failed"))
    decision = table.tell(make_pod())
    assert not decision.accepted
    assert not decision.completed
    assert not table.statuses


def test_a_deleted_pod_that_has_ended_is_reported_once_more() -> None:
    deleted = make_pod(containers=[TERMINATED], **DELETED)
    table = Table(deleted)
    for completed in table.tell(deleted).completed:
        completed()
    assert table.terminated == [deleted]


def test_the_killer_reaches_a_pod_that_has_ended() -> None:
    """An eviction asks the worker directly."""
    table = Table(make_pod(phase="Failed"))
    assert table.tell(make_pod(), "kill", KillPodOptions()).accepted


def test_a_worker_is_forgotten_with_its_pending_update() -> None:
    table = Table(make_pod())
    table.tell(make_pod(1), "create")
    table.begin()
    table.tell(make_pod(2))
    assert table.sync_known_pods({"u"}, 1).stop == []
    table.known = None
    assert table.sync_known_pods((), 1).stop == ["u"]
    assert not table.complete_work("u")
    assert table.start_pod_sync("u", 1) == "nothing"


def test_housekeeping_forgets_the_worker_of_a_pod_that_has_ended() -> None:
    table = Table(make_pod())
    table.tell(make_pod(), "create")
    table.reported = make_pod(phase="Succeeded").status
    assert table.sync_known_pods({"u"}, 1).stop == ["u"]


def test_resources_of_a_pod_are_removed_when_nothing_of_it_runs() -> None:
    deleted = make_pod(containers=[TERMINATED], **DELETED)
    assert not Table(deleted, running=True).should_pod_runtime_be_removed("u")
    assert Table(deleted).should_pod_runtime_be_removed("u")
    assert not Table(make_pod()).should_pod_runtime_be_removed("u")
    assert Table(deleted).should_pod_content_be_removed("u")
    assert not Table(deleted, removes_records=False).should_pod_content_be_removed("u")

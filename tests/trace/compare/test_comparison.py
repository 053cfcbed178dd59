"""Two traces: their first difference, which pods are the same, and the result of each."""

from __future__ import annotations

from typing import Any

from kubesim.trace.compare import compare
from kubesim.trace.compare.first import causes, differing_fields
from kubesim.trace.compare.lives import paired_pods, pod_lives
from kubesim.trace.records import ApiWrite, CniExec, CriCall, EventRecorded, Note, Record, SyncBegin


def numbered(*records: Record) -> list[Record]:
    for number, record in enumerate(records, start=1):
        record.seq = number
    return list(records)


def call(t: int, name: str, pod: str = "default/web", **fields: Any) -> CriCall:
    return CriCall(t=t, pod=pod, call=name, **fields)


def status(t: int, phase: str, restarts: int = 0, *, ready: bool = False, pod: str = "default/web") -> ApiWrite:
    main = {"state": "running", "restartCount": restarts, "ready": ready, "started": True}
    conditions = {"Ready": "True" if ready else "False/ContainersNotReady"}
    summary = {"phase": phase, "conditions": conditions, "containers": {"main": main}}
    return ApiWrite(t=t, pod=pod, resource="pods/status", verb="patch", by="kubelet", summary=summary)


def event(t: int, reason: str, message: str = "", pod: str = "default/web") -> EventRecorded:
    return EventRecorded(t=t, pod=pod, type="Normal", reason=reason, message=message)


# -- the same seed ----------------------------------------------------------------------------------------------


def test_equal_traces_are_the_same() -> None:
    first, second = (numbered(call(1, "RunPodSandbox"), status(2, "Running")) for _ in range(2))
    compared = compare(first, second)
    assert compared.is_same
    assert compared.changed_pods == []


def test_values_from_outside_are_ignored() -> None:
    first = numbered(CniExec(plugin="bridge", command="ADD", result={"mac": "1"}, took=5))
    second = numbered(CniExec(plugin="bridge", command="ADD", result={"mac": "2"}, took=6))
    assert compare(first, second).is_same


def test_a_time_alone_is_a_difference() -> None:
    compared = compare(numbered(call(5, "StopContainer")), numbered(call(7, "StopContainer")))
    assert compared.first is not None
    assert compared.first.moment == (5, 1)
    assert differing_fields(compared.first.left, compared.first.right) == [("t", 0.000005, 0.000007)]


def test_an_additional_record_is_named_instead_of_the_one_next_to_it() -> None:
    first = numbered(call(1, "RunPodSandbox"), call(4, "StartContainer"))
    second = numbered(call(1, "RunPodSandbox"), event(3, "Killing"), call(4, "StartContainer"))
    compared = compare(first, second)
    assert compared.first is not None
    assert (compared.first.left, compared.first.right) == (first[1], second[1])
    assert compared.first.is_extra == (False, True)


def test_the_pod_with_the_earliest_difference_is_first() -> None:
    """Records of other pods are between them, so numbers alone prove nothing."""
    first = numbered(call(1, "A", "d/one"), call(2, "B", "d/two"), call(9, "C", "d/one"), call(9, "D", "d/two"))
    second = numbered(call(1, "A", "d/one"), call(2, "B", "d/two"), call(8, "E", "d/two"), call(9, "X", "d/one"))
    compared = compare(first, second)
    assert compared.first is not None
    assert (compared.first.moment, compared.first.pod) == ((8, 3), "d/two")


def test_a_trace_that_ends_early_differs_at_its_end() -> None:
    compared = compare(numbered(call(1, "A")), numbered(call(1, "A"), call(2, "B")))
    assert compared.first is not None
    assert compared.first.left is None
    assert compared.first.moment == (2, 2)


def test_a_different_order_of_pods_at_one_instant_is_a_difference() -> None:
    first = numbered(call(1, "A", "d/one"), call(1, "A", "d/two"))
    second = numbered(call(1, "A", "d/two"), call(1, "A", "d/one"))
    compared = compare(first, second)
    assert compared.first is not None
    assert compared.first.moment == (1, 1)


def test_causes_lead_to_the_first_record() -> None:
    first = numbered(Note(text="x"), SyncBegin(pod="d/web", cause=1), Note(text="other"), call(3, "A", cause=2))
    assert causes(first, first[3]) == [first[1], first[0]]


def test_differing_fields_are_named_down_to_the_value() -> None:
    fields = differing_fields(status(1, "Running", 0), status(1, "Running", 2))
    assert fields == [("summary.containers.main.restartCount", 0, 2)]
    assert differing_fields(Note(text="x"), call(1, "A")) == []


# -- another seed -----------------------------------------------------------------------------------------------


def test_with_another_seed_times_ids_and_addresses_are_ignored() -> None:
    first = numbered(event(1, "Pulled", "pulled in 2.5s from 10.0.0.1"), call(3, "StartContainer", args={"id": "1"}))
    second = numbered(event(4, "Pulled", "pulled in 1m3s from 10.0.0.2"), call(9, "StartContainer", args={"id": "2"}))
    assert not compare(first, second).is_same
    assert compare(first, second, is_exact=False).is_same


def test_with_another_seed_the_order_of_a_status_and_a_call_is_ignored() -> None:
    first = numbered(call(1, "A"), status(2, "Running"), call(3, "B"))
    second = numbered(call(1, "A"), call(2, "B"), status(3, "Running"))
    assert compare(first, second, is_exact=False).is_same


def test_with_another_seed_one_more_restart_is_a_difference() -> None:
    first = numbered(status(1, "Running", 0), status(9, "Running", 1))
    second = numbered(status(2, "Running", 0), status(8, "Running", 1), status(9, "Running", 2))
    compared = compare(first, second, is_exact=False)
    assert compared.first is not None
    assert compared.first.right is second[2]


def test_without_seeds_the_uid_of_the_first_pod_shows_whether_times_count() -> None:
    first, second = numbered(call(1, "A", uid="1")), numbered(call(2, "A", uid="2"))
    assert not compare(first, second).is_exact
    assert compare(first, numbered(call(2, "A", uid="1"))).is_exact


def test_pods_with_random_names_are_paired_in_order() -> None:
    left = ["d/web-abc-x1", "d/web-abc-x2", "d/db-0", "d/alone"]
    right = ["d/web-abc-y1", "d/db-0", "d/web-abc-y2", "d/other"]
    assert paired_pods(left, right) == {
        "d/web-abc-y1": "d/web-abc-x1",
        "d/web-abc-y2": "d/web-abc-x2",
        "d/db-0": "d/db-0",
    }


def test_with_another_seed_a_random_name_in_a_message_is_ignored() -> None:
    first = numbered(event(1, "Created", "created web-abc-x1", "d/web-abc-x1"))
    second = numbered(event(1, "Created", "created web-abc-y1", "d/web-abc-y1"))
    assert compare(first, second, is_exact=False).is_same


# -- what follows -----------------------------------------------------------------------------------------------


def test_the_lifecycle_of_a_pod_in_a_few_facts() -> None:
    gone = ApiWrite(t=9, pod="default/web", resource="pods", verb="delete", by="kubelet")
    asked = ApiWrite(t=5, pod="default/web", resource="pods", verb="delete", by="user")
    story = [status(2, "Running", 0, ready=True), status(4, "Running", 3, ready=True), event(4, "Killing"), asked,
             status(8, "Failed"), gone]  # fmt: skip
    life = pod_lives(numbered(*story))["default/web"]
    assert (life.phase, life.restart_count, life.ready, life.ended, life.gone) == ("Failed", 3, 2, 8, 9)
    assert life.events == {"Killing": 1}


def test_sums_include_all_pods_and_only_differing_ones_are_changed() -> None:
    first = numbered(status(1, "Running", 0, pod="d/a"), status(1, "Running", 0, pod="d/b"))
    second = numbered(
        status(1, "Running", 0, pod="d/a"), status(1, "Running", 2, pod="d/b"), event(2, "Killing", pod="d/b")
    )
    compared = compare(first, second)
    assert [pair.name for pair in compared.changed_pods] == ["d/b"]
    assert compared.restarts() == (0, 2)
    assert compared.events() == {"Killing": (0, 1)}


def test_pods_that_differ_only_in_times_are_last() -> None:
    first = numbered(status(1, "Running", ready=True, pod="d/a"), status(1, "Running", pod="d/b"))
    second = numbered(status(2, "Running", ready=True, pod="d/a"), status(1, "Running", 2, pod="d/b"))
    changed = compare(first, second).changed_pods
    assert [(pair.name, pair.differs(with_times=False)) for pair in changed] == [("d/b", True), ("d/a", False)]


def test_a_pod_on_one_side_only_is_changed() -> None:
    compared = compare(numbered(call(1, "A", "d/a")), numbered(call(1, "A", "d/a"), call(2, "A", "d/b")))
    assert [(pair.name, pair.left) for pair in compared.changed_pods] == [("d/b", None)]

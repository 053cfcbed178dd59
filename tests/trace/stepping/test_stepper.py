"""Stepping through a trace: forward and back, the state of the node, why, what next."""

from __future__ import annotations

import pytest

from kubesim.trace import records as r
from kubesim.trace.stepping.state import Picture
from kubesim.trace.stepping.stepper import is_decision
from tests.support.stepping import found, records, stepper


def test_forward_stops_at_each_decision_and_back_does_too() -> None:
    walk = stepper("hello-pod")
    there = [walk.here]
    while walk.forward():
        there.append(walk.here)
    back = [walk.here]
    while walk.back():
        back.append(walk.here)
    assert there == back[::-1] == [record for record in records("hello-pod") if is_decision(record)]
    assert not walk.back()


def test_every_record_can_be_stepped_through() -> None:
    walk = stepper("hello-pod")
    count = 1
    while walk.forward(every_record=True):
        count += 1
    assert count == len(records("hello-pod"))
    assert walk.at_end


def test_breaks_stop_it_in_both_directions() -> None:
    walk = stepper("crashloop", "pleg.event ContainerDied", "event reason=BackOff")
    stops = []
    while walk.go_on():
        stops.append(walk.here)
    expected = found(walk.records, "pleg.event ContainerDied") + found(walk.records, "event reason=BackOff")
    assert stops == sorted(expected, key=lambda record: record.seq)
    assert walk.go_back()
    assert walk.here is stops[-2]


def test_it_goes_to_a_number_and_to_a_time() -> None:
    walk = stepper("crashloop")
    assert walk.go_to(42)
    assert walk.here.seq == 42
    assert not walk.go_to(100_000)
    walk.go_to_time(10_000_000)
    assert walk.here.t >= 10_000_000
    assert walk.records[walk.position - 1].t < 10_000_000
    walk.go_to_time(10**15)
    assert walk.at_end


@pytest.mark.parametrize("name", ["crashloop", "kubelet-restart", "static-pod"])
def test_the_picture_is_the_same_after_forward_and_backward_steps(name: str) -> None:
    picture = Picture()
    forward = []
    for record in records(name):
        picture = picture.copy()
        picture.take(record)
        forward.append(picture)
    walk = stepper(name)
    for position in range(len(forward) - 1, -1, -37):
        walk.position = position
        assert walk.picture == forward[position]


def test_the_picture_while_a_container_waits_in_back_off() -> None:
    walk = stepper("crashloop", "sync.end error~CrashLoopBackOff")
    walk.go_on()
    picture = walk.picture
    (worker,) = picture.workers.values()
    assert (worker.pod, worker.sync, worker.pending) == ("default/crash", "", "")
    assert "back-off 10s" in worker.error
    assert [(c.name, c.attempt, c.state, c.exit) for c in picture.containers.values()][-1] == (
        "main", 1, "exited", "1 (Error)",
    )  # fmt: skip
    (sandbox,) = picture.sandboxes.values()
    assert (sandbox.state, sandbox.ip) == ("ready", "10.88.0.10")
    assert picture.loop.channel == "pleg"
    assert picture.loop.handler == "HandlePodSyncs"
    assert picture.statuses["default/crash"]["phase"] == "Running"


def test_the_picture_while_a_container_is_being_stopped() -> None:
    walk = stepper("graceful-delete", "cri.call StopContainer pod=deaf")
    walk.go_on()
    (call,) = [
        call for call in walk.picture.calls.values() if call.call == "StopContainer" and call.pod.endswith("deaf")
    ]
    assert call.seq == walk.here.seq
    states = {c.pod: c.state for c in walk.picture.containers.values()}
    assert states["default/deaf"] == "stopping"


def test_a_stopped_kubelet_loses_its_memory_and_containers_keep_running() -> None:
    walk = stepper("kubelet-restart", "note text~'kubelet is killed'")
    walk.go_on()
    picture = walk.picture
    assert (picture.workers, picture.calls, picture.probes) == ({}, {}, {})
    assert any(c.state == "running" for c in picture.containers.values())


def test_a_finished_pod_has_no_worker_any_more() -> None:
    walk = stepper("hello-pod", "worker.state state=finished")
    walk.go_on()
    assert walk.picture.workers == {}


def test_why_follows_the_causes_to_the_first_record() -> None:
    walk = stepper("crashloop", "cri.call CreateContainer args.attempt=1")
    walk.go_on()
    chain = walk.why()
    assert chain[0] is walk.here
    assert [type(record) for record in chain[:6]] == [
        r.CriCall, r.SyncBegin, r.WorkerUpdate, r.Handler, r.LoopSelect, r.PlegEvent,
    ]  # fmt: skip
    assert chain[-1].cause is None
    assert isinstance(chain[-1], r.ApiWrite)


def test_what_next_names_the_retry_of_a_failed_sync() -> None:
    walk = stepper("crashloop", "sync.end error~CrashLoopBackOff")
    walk.go_on()
    ended = walk.here
    assert isinstance(ended, r.SyncEnd)
    assert ended.requeue is not None
    (due,) = walk.due()
    assert (due.t, due.subject, due.text) == (ended.t + ended.requeue, "crash", "retry")


def test_what_next_names_the_return_of_a_call_in_progress() -> None:
    walk = stepper("hello-pod", "cri.call PullImage")
    walk.go_on()
    due = walk.due()[0]
    assert due.text == "PullImage returns"
    returned = walk.records[due.seq - 1]
    assert isinstance(returned, r.CriReturn)
    assert (returned.call, returned.t) == ("PullImage", due.t)


def test_what_next_names_the_update_that_waits_for_the_worker() -> None:
    walk = stepper("hello-pod", "worker.update update=sync")
    walk.go_on()
    waiting = [due for due in walk.due() if due.text.startswith("starts sync")]
    assert [type(walk.records[due.seq - 1]) for due in waiting] == [r.SyncBegin]


def test_consequences_of_a_record() -> None:
    walk = stepper("crashloop", "sync.begin")
    walk.go_on()
    assert all(record.cause == walk.here.seq for record in walk.follows())
    assert r.Actions in {type(record) for record in walk.follows()}

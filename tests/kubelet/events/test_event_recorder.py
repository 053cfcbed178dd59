"""Events: counted, combined, dropped as spam, and written in order."""

from __future__ import annotations

import random
from typing import Any, cast

from kubesim.api.event import Event, EventSource
from kubesim.api.meta import ObjectMeta, ObjectReference
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.api_client import ApiClient
from kubesim.cluster.events.event_correlator import EventCorrelator, EventNames
from kubesim.concurrency import TaskSet
from kubesim.kubelet.events.event_recorder import KubeletEvents
from kubesim.trace import MemorySink, Recorder
from tests.support.fakes.api_server import EventServer

T0 = 946_684_800 * SECOND
POD = Pod.from_json(
    {
        "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"},
        "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]},
    }
)


def make_correlator() -> EventCorrelator:
    return EventCorrelator(EventNames(random.Random(1)))


def make_event(message: str, name: str = "e", **fields: Any) -> Event:
    return Event(
        metadata=ObjectMeta(name=name, namespace="shop"),
        involved_object=ObjectReference(kind="Pod", namespace="shop", name="web", uid="u1"),
        source=EventSource(component="kubelet", host="n"),
        message=message,
        count=1,
        **{"type": "Warning", "reason": "BackOff", "first_timestamp": "2000-01-01T00:00:00Z", **fields},
    )


def test_equal_events_are_one_object_with_a_count() -> None:
    correlator = make_correlator()
    first = correlator.correlate(make_event("m", "e1"), T0)
    assert first is not None
    correlator.update_state(first.changed(metadata=first.metadata.changed(resource_version="12")))
    second = correlator.correlate(make_event("m", "e2", first_timestamp="2000-01-01T00:01:00Z"), T0 + 60 * SECOND)
    assert second is not None
    assert (second.count, second.metadata.name, second.metadata.resource_version) == (2, "e1", "12")
    assert second.first_timestamp == "2000-01-01T00:00:00Z"


def test_the_tenth_message_for_one_reason_is_combined_with_later_ones() -> None:
    correlator = make_correlator()
    seen = [correlator.correlate(make_event(f"m{n}", f"e{n}"), T0 + n * SECOND) for n in range(12)]
    events = [event for event in seen if event is not None]
    assert [event.count for event in events] == [1] * 10 + [2, 3]
    assert events[9].message == "(combined from similar events): m9"
    assert events[11].message == "(combined from similar events): m11"
    assert events[11].metadata.name == events[9].metadata.name != "e9"
    late = correlator.correlate(make_event("m12", "e12"), T0 + 700 * SECOND)
    assert late is not None
    assert late.message == "m12"


def test_an_object_may_have_25_events_then_one_every_five_minutes_and_the_count_continues() -> None:
    correlator = make_correlator()
    written = [correlator.correlate(make_event("m"), T0 + n) for n in range(40)]
    assert [event is not None for event in written] == [True] * 25 + [False] * 15
    assert correlator.correlate(make_event("m", type="Normal"), T0 + 50) is not None
    assert correlator.correlate(make_event("m"), T0 + 299 * SECOND) is None
    later = correlator.correlate(make_event("m"), T0 + 300 * SECOND)
    assert later is not None
    assert later.count == 42


def test_names_differ_within_an_instant_and_are_valid() -> None:
    names = EventNames(random.Random(1))
    made = [names.make("web", T0) for _ in range(2000)]
    assert len(set(made)) == 2000
    assert made[0].startswith(f"web.{T0 * 1000:x}"[:15])
    assert len(names.make("a" * 250, T0)) == 36


def test_the_recorder_shows_the_trace_immediately_and_the_server_in_order() -> None:
    async def main() -> None:
        clock = LoopClock()
        server, sink = EventServer(clock), MemorySink()
        events = KubeletEvents(cast(ApiClient, server), "node-1", clock, Recorder(clock, sink), random.Random(1))
        async with TaskSet() as tasks:
            tasks.start("events", events.run())
            events.event(POD, "Normal", "Pulled", "there", "i")
            events.event(POD, "Normal", "Pulled", "there", "i")
            events.event(POD, "Warning", "FailedMount", "no")
            events.node_event("Normal", "Starting", "Starting kubelet.")
            assert [record.to_json().get("field_path") for record in sink.records] == [
                "spec.initContainers{i}", "spec.initContainers{i}", None, None,
            ]  # fmt: skip
            await clock.sleep(SECOND)
            assert [(verb, event.reason, event.count) for _, verb, event in server.calls] == [
                ("create", "Pulled", 1),
                ("patch", "Pulled", 2),
                ("create", "FailedMount", 1),
                ("create", "Starting", 1),
            ]
            pulled, node = server.calls[0][2], server.calls[3][2]
            assert pulled.metadata.namespace == "shop"
            assert pulled.involved_object.resource_version == "7"
            assert (node.metadata.namespace, node.involved_object.kind) == ("default", "Node")
            server.gone = True
            events.event(POD, "Normal", "Pulled", "there", "i")
            await clock.sleep(SECOND)
            assert [verb for _, verb, _ in server.calls[4:]] == ["patch", "create"]

    run_virtual(main)


def test_an_unavailable_server_is_retried_and_the_other_events_wait() -> None:
    async def main() -> None:
        clock = LoopClock()
        server = EventServer(clock)
        server.down_until = 30
        events = KubeletEvents(cast(ApiClient, server), "node-1", clock, Recorder(clock), random.Random(1))
        async with TaskSet() as tasks:
            tasks.start("events", events.run())
            events.event(POD, "Normal", "A", "a")
            events.event(POD, "Normal", "B", "b")
            await clock.sleep(60 * SECOND)
            assert [event.reason for _, _, event in server.calls] == ["A", "B"]
            assert 30 <= server.calls[0][0] < 40

    run_virtual(main)


def test_writing_is_throttled() -> None:
    async def main() -> None:
        clock = LoopClock()
        server = EventServer(clock)
        events = KubeletEvents(cast(ApiClient, server), "node-1", clock, Recorder(clock), random.Random(1))
        async with TaskSet() as tasks:
            tasks.start("events", events.run())
            for n in range(200):
                pod = POD.changed(metadata=POD.metadata.changed(uid=f"u{n}"))
                events.event(pod, "Normal", "A", "a")
            await clock.sleep(10 * SECOND)
            times = [at for at, _, _ in server.calls]
            assert len(times) == 200
            assert (times[99], times[199]) == (0, 2)

    run_virtual(main)

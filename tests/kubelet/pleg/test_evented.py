"""The evented PLEG: the meaning of an event, how few relists it needs, and when it falls back."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from kubesim.app import run_scenario
from kubesim.kubelet.pleg.container_events import EventMeaning, meaning_of
from kubesim.kubelet.pleg.generic import GenericPleg
from kubesim.kubelet.pleg.records import EventType
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.protocol import ContainerEventResponse, ContainerEventType, SandboxInfo
from kubesim.runtime.types import RuntimePodStatus
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import Note, PlegEvent
from tests.support.ticks import ticks

SECOND = 1_000_000
SANDBOX = SandboxInfo("box", "u", "web", "default", 0, True, 0)
SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: x}}
spec:
  duration: 2m
  featureGates: {{EventedPLEG: {gate}}}
  images: [{{name: "*", present: true}}]
  behaviours: [{{runFor: 20s, exitCode: 1, times: 1}}]
  steps: [{steps}]
---
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec: {{containers: [{{name: main, image: "nginx:1"}}]}}
"""


def event(type: ContainerEventType, identifier: str = "c", sandbox: SandboxInfo | None = SANDBOX) -> EventMeaning:
    return meaning_of(ContainerEventResponse(type, identifier, 0, sandbox, ()))


def test_the_meaning_of_an_event() -> None:
    assert event("CONTAINER_CREATED_EVENT") == EventMeaning(store=True)
    assert event("CONTAINER_STARTED_EVENT") == EventMeaning(("ContainerStarted",), store=True)
    assert event("CONTAINER_STOPPED_EVENT") == EventMeaning(("ContainerDied",), store=True)
    gone: tuple[EventType, ...] = ("ContainerDied", "ContainerRemoved")
    assert event("CONTAINER_DELETED_EVENT") == EventMeaning(gone)
    assert event("CONTAINER_DELETED_EVENT", "box") == EventMeaning(gone, forget=True)


@pytest.mark.parametrize("type", get_args(ContainerEventType))
def test_an_event_without_a_sandbox_is_ignored(type: ContainerEventType) -> None:
    assert event(type, sandbox=None) == EventMeaning()


def test_a_cache_with_two_writers_rejects_older_values() -> None:
    new, old = RuntimePodStatus("u", "new"), RuntimePodStatus("u", "old")
    cache = PodCache(only_newer=True)
    assert cache.set("u", new, None, 2)
    assert not cache.set("u", old, None, 1)
    assert cache.get("u") is new
    assert cache.set("u", old, None, 2)
    assert PodCache().set("u", new, None, 2)


class Played:
    """With every tick executed, so that relists can be counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, gate: str, steps: str = "") -> None:
        self.relists = 0
        relist = GenericPleg.relist

        async def counted(pleg: GenericPleg) -> bool:
            self.relists += 1
            return await relist(pleg)

        self._sink = MemorySink()
        scenario = parse_scenario(SCENARIO.format(gate=gate, steps=steps), "x.yaml")
        with monkeypatch.context() as patched, ticks(every_tick=True):
            patched.setattr(GenericPleg, "relist", counted)
            self.result: RunResult = run_scenario(scenario, sinks=(self._sink,))

    def all(self, kind: type[Any]) -> list[Any]:
        return [record for record in self._sink.records if isinstance(record, kind)]

    def deaths(self) -> list[tuple[float, float]]:
        """When a container exited, and when the PLEG first reported it."""
        ends = [note.t / SECOND for note in self.all(Note) if "ended with exit code" in note.text]
        reported = [each.t / SECOND for each in self.all(PlegEvent) if each.type == "ContainerDied"]
        return [(end, min(moment for moment in reported if moment >= end)) for end in ends]


def test_an_exit_is_known_immediately_and_with_fewer_relists(monkeypatch: pytest.MonkeyPatch) -> None:
    evented, generic = Played(monkeypatch, "true"), Played(monkeypatch, "false")
    [(end, reported)] = evented.deaths()
    assert reported == end
    [(end, reported)] = generic.deaths()
    assert 0 < reported - end < 1.01
    assert evented.result.phases == generic.result.phases == {"default/web": "Running"}
    assert evented.relists == 1
    assert generic.relists > 115


def test_a_runtime_failure_makes_it_relist_every_second_permanently(monkeypatch: pytest.MonkeyPatch) -> None:
    down = "{at: 40s, stop: runtime}, {at: 42s, start: runtime}, {at: 60.3s, kill: {pod: web, container: main}}"
    played = Played(monkeypatch, "true", down)
    notes = [note.text for note in played.all(Note) if "PLEG" in note.text]
    assert len(notes) == 6
    assert notes[0].endswith("error reading from server: EOF")
    assert "connection refused" in notes[1]
    assert notes[5] == "Fall back to Generic PLEG relisting since Evented PLEG is not working"
    (first, at_once), (second, later) = played.deaths()
    assert at_once == first
    assert 0 < later - second < 1.01
    assert played.relists > 75


def test_skipped_ticks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    every = Played(monkeypatch, "true").result
    scenario = parse_scenario(SCENARIO.format(gate="true", steps=""), "x.yaml")
    skipping = run_scenario(scenario, sinks=(MemorySink(),))
    assert (skipping.records, skipping.outcomes) == (every.records, every.outcomes)

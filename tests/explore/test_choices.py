"""Choices: faults before and after operations, and draws. Each is an item of a scenario, which replays it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.app import run_scenario
from kubesim.cli.main import main
from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.choices import Choices
from kubesim.clock.randomness import Randomness
from kubesim.explore.choice import CRASHES, DRAWS, EFFECTS, Choice, effects_named
from kubesim.explore.points import Point, choices_of
from kubesim.explore.run import Run
from kubesim.scenario.language.operations.names import OPERATIONS
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import Record, SyncEnd
from tests.support.searches import search, subject_of

WEB = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: web}
spec:
  steps: [{at: 20s, delete: {pod: web}}]
%s
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: settings, configMap: {name: settings}}]
  containers:
    - name: main
      image: nginx
      volumeMounts: [{name: settings, mountPath: /settings}]
      lifecycle: {preStop: {exec: {command: ["true"]}}}
"""
STATIC = """
  sources:
    file:
      manifests:
        agent.yaml:
          apiVersion: v1
          kind: Pod
          metadata: {name: agent}
          spec: {containers: [{name: main, image: nginx}]}
"""


@pytest.fixture(scope="module")
def points() -> tuple[Point, ...]:
    return Run(subject_of(WEB % STATIC), observed=True)().points


def test_faults_are_placed_before_and_after_operations_of_every_kind(points: tuple[Point, ...]) -> None:
    for group in OPERATIONS:
        moments = {point.moment for point in points if point.operation.startswith(f"{group}.")}
        assert "before" in moments, group
        assert "after" in moments or group in ("disk", "cni"), group


@pytest.mark.parametrize("effect", EFFECTS)
def test_each_effect_has_choices_that_a_scenario_accepts(effect: str, points: tuple[Point, ...]) -> None:
    choices = choices_of(points, (effect,), nodes=2)
    assert choices
    played = subject_of(WEB % STATIC).played(choices)
    assert len(played.spec.choices if effect in DRAWS else played.spec.faults) == len(choices)


def test_only_files_that_are_not_synced_are_torn(points: tuple[Point, ...]) -> None:
    torn = {choice.operation for choice in choices_of(points, ("torn",))}
    assert torn == {"disk.WriteStaticPod", "disk.WriteCheckpoint"}
    subjects = {choice.subject for choice in choices_of(points, ("torn",)) if choice.operation.endswith("Checkpoint")}
    assert all(subject.startswith("image_manager/pulled/") for subject in subjects)


def test_a_crash_is_placed_once_at_each_instant(points: tuple[Point, ...]) -> None:
    for effect in CRASHES:
        choices = choices_of(points, (effect,), nodes=2)
        assert len(choices) < len(points)
        assert len(set(choices)) == len(choices)


def test_a_group_of_effects_stands_for_its_members() -> None:
    assert effects_named(("draws", "reboot", "low")) == ("low", "high", "reboot")
    with pytest.raises(KeyError):
        effects_named(("meteor",))


def test_a_choice_survives_a_file() -> None:
    choice = Choice("reboot", "runtime.CreateContainer", "after", 2, "node-1", "default/web", "main")
    assert Choice.from_json(choice.to_json()) == choice
    assert choice.text == "reboot after CreateContainer 2 of web:main"


# -- draws ------------------------------------------------------------------------------------------------------


def played(given: str = "", name: str = "story.yaml") -> list[Record]:
    sink = MemorySink()
    result = run_scenario(parse_scenario(WEB % given, name), sinks=(sink,))
    assert result.ok, result.failures
    return sink.records


def choice(draw: str, nth: int, take: str) -> str:
    return f"  choices: [{{draw: {draw}, nth: {nth}, take: {take}}}]"


@pytest.mark.parametrize(("end", "resync_s"), [("low", 60), ("high", 90)])
def test_a_jitter_takes_an_end_of_its_range(end: str, resync_s: int) -> None:
    records = played(choice("node-1/worker/*/*", 1, end))
    first = next(record.requeue for record in records if isinstance(record, SyncEnd) and record.requeue)
    assert first == pytest.approx(resync_s * SECOND, abs=1000)


def test_other_draws_stay_as_they_were() -> None:
    before = [record.t for record in played() if record.t < 500_000]
    assert [record.t for record in played(choice("node-1/lease", 2, "high")) if record.t < 500_000] == before


def test_of_several_ready_channels_the_chosen_one_is_taken() -> None:
    ends = {("node-1/syncloop/select", 1): "high", ("node-1/syncloop/select", 2): "low"}
    stream = Randomness(7, Choices(ends), ("node-1",)).stream("syncloop", "select")  # type: ignore[arg-type]
    assert [stream.randrange(3), stream.randrange(3)] == [2, 0]
    assert stream.randrange(10**9) == _third_draw()


def _third_draw() -> int:
    stream = Randomness(7).stream("syncloop", "select")
    return [stream.randrange(3), stream.randrange(3), stream.randrange(10**9)][2]


def test_of_timers_at_the_same_instant_the_chosen_one_fires_first() -> None:
    async def order(chosen: int) -> list[str]:
        clock, fired = LoopClock(), list[str]()
        assert clock.virtual is not None
        clock.virtual.ties = lambda count: min(chosen, count - 1)
        for name in "abc":
            clock.call_at(clock.now() + 5, fired.append, name)
        await clock.sleep(10)
        await asyncio.sleep(0)
        return fired

    assert run_virtual(order, 0) == ["a", "b", "c"]
    assert run_virtual(order, 2) == ["c", "a", "b"]


def test_a_choice_about_a_draw_that_never_happens_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "story.yaml"
    path.write_text(WEB % choice("node-1/select", 4, "high"))
    assert main(["run", str(path)]) == 1
    assert "the run drew 0 times from node-1/select, and nth is 4" in "".join(capsys.readouterr())


def test_a_search_tries_draws_and_repeats_the_same_result() -> None:
    first, second = (search(subject_of(WEB % ""), 12, ("low", "high")) for _ in range(2))
    assert first.runs == second.runs == 12
    assert first.rules == second.rules
    assert [finding.title for finding in first.findings] == [finding.title for finding in second.findings]

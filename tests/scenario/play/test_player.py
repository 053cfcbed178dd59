"""The player: times of steps, the end of a run, and verdicts, in a world that reacts immediately."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject, ObjectMeta, ObjectReference
from kubesim.api.pod import Pod, PodCondition, PodSpec, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.store.store import Listener, Store
from kubesim.concurrency import TaskSet
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.scenario.language.document import Spec
from kubesim.scenario.language.nodes.device_items import DeviceHealth
from kubesim.scenario.language.object_items import Delete
from kubesim.scenario.language.operations.dependency_items import DependencyStep
from kubesim.scenario.language.sources.remote_source_items import ServeManifest
from kubesim.scenario.language.sources.source_items import Manifest
from kubesim.scenario.language.step_items import (
    ClockJump,
    Cut,
    Drain,
    Evict,
    Exec,
    Flush,
    Hang,
    Kill,
    NodeFile,
    NodeTarget,
    Patch,
    Pressure,
    Reboot,
    RemoveContainer,
    Restart,
    Scale,
    Shutdown,
    Start,
    StaticPodFile,
    Stop,
    TaintNode,
    Upgrade,
    WriteFile,
    WriteStaticPod,
)
from kubesim.scenario.play.expectations import Judge
from kubesim.scenario.play.player import Player
from kubesim.trace import MemorySink, Recorder
from kubesim.trace.records import Expectation

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {}}
READY = PodStatus(phase="Running", conditions=(PodCondition(type="Ready", status="True"),))


class FakeWorld:
    """Pods are ready two seconds after they are applied, and gone one second after they are deleted."""

    def __init__(self, clock: LoopClock, store: Store) -> None:
        self.clock, self.store = clock, store
        self.did: list[tuple[float, str]] = []
        self.notes: list[str] = []

    def did_at(self, what: str) -> None:
        self.did.append((self.clock.elapsed() / SECOND, what))

    def apply(self, manifest: dict[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        self.did_at(f"apply {name}")
        metadata = ObjectMeta(name=name, namespace="default")
        self.store.create(Pod(kind="Pod", metadata=metadata, spec=PodSpec(node_name="n")))
        self.clock.call_at(self.clock.now() + 2 * SECOND, self.becomes_ready, name)

    def becomes_ready(self, name: str) -> None:
        pod = self.store.find("Pod", "default", name)
        if isinstance(pod, Pod):
            self.store.replace(pod.changed(status=READY))

    def patch(self, patch: Patch) -> None:
        raise StepFailed("the server said no")

    def delete(self, delete: Delete) -> None:
        self.is_deleted(delete.pod, *delete.key)

    def delete_object(self, obj: ApiObject, propagation_policy: str | None = None) -> None:
        metadata = obj.metadata
        self.is_deleted(f"{metadata.namespace}/{metadata.name}", metadata.namespace, metadata.name)

    def is_deleted(self, what: str, namespace: str, name: str) -> None:
        self.did_at(f"delete {what}")
        self.clock.call_at(self.clock.now() + SECOND, self.store.remove, "Pod", namespace, name)

    async def exec(self, exec: Exec) -> None:
        await self.clock.sleep(5 * SECOND)
        self.did_at("exec done")

    async def kill(self, kill: Kill) -> None:
        self.did_at("kill")

    async def remove_container(self, remove: RemoveContainer) -> None:
        self.did_at("remove container")

    def write_static_pod(self, write: WriteStaticPod) -> None:
        self.did_at(f"write {write.file}")

    def write_static_pod_everywhere(self, file: str, manifest: Manifest) -> None:
        self.did_at(f"write {file} on all nodes")

    def remove_static_pod(self, remove: StaticPodFile) -> None:
        self.did_at(f"remove {remove.file}")

    def serve_manifest(self, answer: ServeManifest) -> None:
        self.did_at(f"serve {answer.status}")

    def remove_all_static_pods(self) -> None:
        pass

    async def stop(self, stop: Stop) -> None:
        self.did_at(f"stop {stop.what}")

    def start(self, start: Start) -> None:
        self.did_at(f"start {start.what}")

    async def restart(self, restart: Restart) -> None:
        await self.clock.sleep(restart.down_for)
        self.did_at(f"{restart.what} restarted")

    async def upgrade(self, upgrade: Upgrade) -> None:
        self.did_at("upgrade")

    async def reboot(self, reboot: Reboot) -> None:
        self.did_at("reboot")

    async def shutdown(self, shutdown: Shutdown) -> None:
        self.did_at("shutdown")

    async def hang(self, hang: Hang) -> None:
        self.did_at(f"hang for {hang.duration}")

    async def cut(self, cut: Cut) -> None:
        self.did_at(f"cut for {cut.duration}")

    async def flush(self, flush: Flush) -> None:
        self.did_at(f"flush {flush.what}")

    def clock_jump(self, jump: ClockJump) -> None:
        self.did_at(f"clock jumps by {jump.by}")

    def write_file(self, write: WriteFile) -> None:
        self.did_at(f"write {write.path}")

    def remove_file(self, remove: NodeFile) -> None:
        self.did_at(f"remove {remove.path}")

    async def dependency(self, step: DependencyStep) -> None:
        self.did_at(f"dependency {step.name}")

    def objects(self, kind: str) -> list[ApiObject]:
        return self.store.list(kind)

    def device_health(self, health: DeviceHealth) -> None:
        self.did_at(f"{health.device} {health.health}")

    def pressure(self, pressure: Pressure) -> None:
        self.did_at(f"pressure {pressure.available}")

    def scale(self, scale: Scale) -> None:
        self.did_at(f"scale {scale.object}")

    def evict(self, step: Evict) -> None:
        self.did_at(f"evict {step.pod}")

    def cordon(self, cordon: NodeTarget) -> None:
        self.did_at(f"cordon {cordon.node}")

    def uncordon(self, uncordon: NodeTarget) -> None:
        self.did_at(f"uncordon {uncordon.node}")

    async def drain(self, drain: Drain) -> None:
        self.did_at(f"drain {drain.node}")

    def taint(self, taint: TaintNode) -> None:
        self.did_at(f"taint {taint.node}")

    def note(self, text: str) -> None:
        self.notes.append(text)

    def problem_of_node(self, name: str) -> str:
        return ""

    def watch(self, kind: str, listener: Listener) -> Callable[[], None]:
        return self.store.watch(kind, listener)


class Run:
    """One run: the steps of the world, the verdicts, and the end time."""

    def __init__(self, spec: dict[str, Any], until: int | None = None) -> None:
        self.sink = MemorySink()
        run_virtual(self._play, Spec.model_validate(spec), until)

    async def _play(self, spec: Spec, until: int | None) -> None:
        clock = LoopClock()
        store = Store(clock.now, lambda: "uid")
        self.world = FakeWorld(clock, store)
        async with TaskSet() as tasks:
            judge = Judge(clock, Recorder(clock, self.sink), store, spec.expect)
            await tasks.run_until(Player(clock, tasks, self.world, judge, spec, until).play())
            judge.close()
        self.ended = clock.elapsed() / SECOND
        self.did = self.world.did
        reported = [record for record in self.sink.records if isinstance(record, Expectation)]
        self.verdicts = [(record.met, record.expectation, record.why) for record in reported]
        self.met, self.failures = judge.met, judge.failures


def test_without_steps_the_whole_lifecycle_is_run() -> None:
    run = Run({"objects": [POD]})
    # Ready after 2 s, idle for 30 s, gone after another second, and 3 s for the final clean-up.
    assert run.did == [(0, "apply web"), (32, "delete default/web")]
    assert run.ended == 36


def test_a_duration_is_the_end_and_deletes_nothing() -> None:
    run = Run({"objects": [POD], "duration": "10s"})
    assert (run.did, run.ended) == ([(0, "apply web")], 10)


def test_with_steps_the_run_ends_when_everything_is_idle() -> None:
    steps = [{"at": "10s", "exec": {"pod": "web", "command": ["x"]}}, {"at": "5s", "kill": {"pod": "web"}}]
    run = Run({"objects": [POD], "steps": steps})
    assert run.did == [(0, "apply web"), (5, "kill"), (15, "exec done")]
    assert run.ended == 18


def test_steps_on_a_node() -> None:
    steps = [{"at": "1s", "pressure": {"pid.available": "3%"}}, {"at": "2s", "shutdown": "node"}]
    steps.append({"at": "3s", "hang": {"for": "4s"}})
    steps.append({"at": "4s", "deviceHealth": {"device": "gpu0", "health": "Unhealthy"}})
    nodes = [{"name": "node-1", "devicePlugins": [{"resource": "example.com/gpu", "count": 1}]}]
    run = Run({"objects": [POD], "nodes": nodes, "steps": steps})
    assert run.did == [
        (0, "apply web"),
        (1, "pressure {'pid.available': '3%'}"),
        (2, "shutdown"),
        (3, "hang for 4000000"),
        (4, "gpu0 Unhealthy"),
    ]


def test_a_run_that_never_becomes_idle_ends_after_two_minutes() -> None:
    run = Run({"objects": [POD], "steps": [{"at": "1s", "delete": {"pod": "other"}}], "expect": [
        {"pod": "web", "phase": "Failed"}]})  # fmt: skip
    assert run.ended == 124


def test_until_ends_the_run_early() -> None:
    run = Run({"objects": [POD], "duration": "1m", "steps": [{"at": "20s", "kill": {"pod": "web"}}]}, 7 * SECOND)
    assert (run.did, run.ended) == ([(0, "apply web")], 7)


def test_a_timed_expectation_is_awaited_before_the_deletion() -> None:
    run = Run({"objects": [POD], "expect": [{"pod": "web", "phase": "Failed", "by": "50s"}]})
    assert [moment for moment, what in run.did if what.startswith("delete")] == [80.000001]


def test_a_failed_step_fails_the_run_which_continues() -> None:
    steps = [{"at": "1s", "patch": {"pod": "web", "patch": {}}}, {"at": "2s", "kill": {"pod": "web"}}]
    run = Run({"objects": [POD], "steps": steps})
    assert run.verdicts == [(False, "step at 1s: patch", "the server said no")]
    assert run.did[-1] == (2, "kill")


def test_verdicts_have_a_reason_and_are_in_the_trace() -> None:
    run = Run(
        {
            "objects": [POD],
            "expect": [
                {"pod": "web", "phase": "Running", "by": "2s"},
                {"pod": "web", "condition": "Ready", "by": "1s"},
                {"pod": "web", "condition": "Initialized", "never": True},
                {"pod": "web", "phase": "Running", "by": "10s", "never": True},
                {"pod": "web", "gone": True, "by": "40s"},
                {"pod": "absent", "phase": "Running"},
            ],
        }
    )
    assert run.verdicts == [
        (False, "pod web must have condition Ready True by 1s", "Ready is not set at 1s"),
        (True, "pod web must have phase Running by 2s", "the phase is Running at 2s"),
        (False, "pod web must never have phase Running by 10s", "the phase is Running at 2s"),
        (True, "pod web must be gone by 40s", "it is gone at 33s"),
        (
            True,
            "pod web must never have condition Initialized True",
            "Initialized is not set, and the pod is gone at the end",
        ),
        (False, "pod absent must have phase Running", "no such pod was seen at the end"),
    ]
    assert run.met == [text for met, text, _ in run.verdicts if met]
    assert [failure.text for failure in run.failures] == [text for met, text, _ in run.verdicts if not met]
    assert [failure.at for failure in run.failures] == [1_000_001, 2_000_000, 36_000_000]


def test_events_are_counted_as_in_the_api_server() -> None:
    async def main() -> list[tuple[bool, str]]:
        clock = LoopClock()
        store = Store(clock.now, lambda: "uid")
        expect = Spec.model_validate(
            {"expect": [{"pod": "web", "event": "BackOff", "message": "web", "count": {"atLeast": 3}}]}
        )
        sink = MemorySink()
        judge = Judge(clock, Recorder(clock, sink), store, expect.expect)
        about = ObjectReference(kind="Pod", namespace="default", name="web")
        event = Event(
            kind="Event",
            metadata=ObjectMeta(name="web.1", namespace="default"),
            involved_object=about,
            reason="BackOff",
            message="Back-off restarting web",
            count=1,
        )
        stored = store.create(event)
        assert isinstance(stored, Event)
        store.create(event.changed(metadata=ObjectMeta(name="web.2", namespace="default"), message="another"))
        for count in (2, 3):
            assert judge.waits(before_deletion=False)
            store.replace(stored.changed(count=count))
        assert len(judge.met) == 1
        return [(record.met, record.why) for record in sink.records if isinstance(record, Expectation)]

    assert run_virtual(main) == [(True, "the Event was emitted 3 times at 0s")]


def test_never_in_an_interval_allows_it_before_and_after() -> None:
    expect = [
        {"pod": "web", "phase": "Pending", "between": ["5s", "10s"], "never": True},
        {"pod": "web", "phase": "Running", "between": ["5s", "10s"], "never": True},
    ]
    run = Run({"objects": [POD], "expect": expect})
    assert run.verdicts == [
        (False, "pod web must never have phase Running between 5s and 10s", "the phase is Running at 5s"),
        (True, "pod web must never have phase Pending between 5s and 10s", "the phase is Running at 10s"),
    ]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"between": ["5s", "5s"], "never": True}, "between ends before it begins"),
    ],
)
def test_invalid_times(more: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Spec.model_validate({"expect": [{"pod": "web", "phase": "Running", **more}]})

"""The status manager: rejected changes, the times of writes, and the cost of an idle node."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

from kubesim.api.meta import CONFIG_MIRROR, CONFIG_SOURCE
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.api_client import ApiClient
from kubesim.concurrency import TaskSet
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.status.manager_rules import normalize_status
from kubesim.kubelet.status.resize_conditions import ResizeConditions
from kubesim.trace import MemorySink, Recorder
from tests.support.fakes.api_server import PodServer
from tests.support.ticks import ticks


def make_pod(name: str = "p", **metadata: Any) -> Pod:
    return Pod.from_json(
        {
            "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "generation": 1, **metadata},
            "spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"},
            "status": {"phase": "Pending"},
        }
    )


def make_status(phase: str, **fields: Any) -> PodStatus:
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
    return PodStatus.from_json({"phase": phase, "conditions": [ready], **fields})


class Bench:
    def __init__(self, *pods: Pod) -> None:
        self.clock = LoopClock()
        self.server = PodServer(self.clock, *pods)
        self.sink = MemorySink()
        self.pods = PodManager()
        for pod in pods:
            self.pods.update(pod)
        self.could_run = False
        self.manager = StatusManager(
            cast(ApiClient, self.server),
            self.pods,
            lambda pod: self.could_run,
            self.clock,
            Recorder(self.clock, self.sink),
        )

        self.server.watcher = self.observe

    def observe(self, name: str) -> None:
        """The kubelet is notified of the API server's pod."""
        self.pods.update(self.server.pods[name])
        self.manager.pod_changed(self.server.pods[name].metadata.uid)

    async def rest(self, seconds: float) -> None:
        await self.clock.sleep(round(seconds * SECOND))


def play(story: Callable[[Bench], Coroutine[Any, Any, None]], *pods: Pod) -> None:
    async def main() -> None:
        bench = Bench(*pods)
        async with TaskSet() as tasks:
            tasks.start("status manager", bench.manager.run())
            await tasks.run_until(story(bench))

    run_virtual(main)


def test_a_change_is_written_immediately_and_the_trace_has_its_cause() -> None:
    async def story(bench: Bench) -> None:
        pod = make_pod()
        assert bench.manager.set_pod_status(pod, make_status("Running"))
        assert not bench.manager.set_pod_status(pod, make_status("Running"))
        await bench.rest(1)
        assert bench.server.calls == [(0, "get", "p"), (0.01, "patch", "Running")]
        stored, written = bench.sink.records
        assert (stored.KIND, written.KIND) == ("status.set", "api.write")
        assert written.cause == stored.seq

    play(story, make_pod())


def test_changes_during_a_write_are_in_the_next_batch() -> None:
    async def story(bench: Bench) -> None:
        a, b = make_pod("a"), make_pod("b")
        bench.manager.set_pod_status(a, make_status("Pending", message="1"))
        bench.manager.set_pod_status(b, make_status("Pending", message="b"))
        await bench.rest(0.005)
        bench.manager.set_pod_status(a, make_status("Running"))
        bench.manager.set_pod_status(a, make_status("Failed"))
        await bench.rest(1)
        # The batch continues with the statuses it started with; of the two newer ones of `a` only the last is sent.
        assert [call[1:] for call in bench.server.calls] == [
            ("get", "a"), ("patch", "Pending"), ("get", "b"), ("patch", "Pending"), ("get", "a"), ("patch", "Failed"),
        ]  # fmt: skip

    play(story, make_pod("a"), make_pod("b"))


def test_a_failed_write_is_retried_by_the_full_pass() -> None:
    async def story(bench: Bench) -> None:
        await bench.rest(3)
        bench.server.broken = True
        bench.manager.set_pod_status(make_pod(), make_status("Running"))
        await bench.rest(1)
        bench.server.broken = False
        await bench.rest(20)
        assert bench.server.calls == [(3, "get", "p"), (10, "get", "p"), (10.01, "patch", "Running")]

    play(story, make_pod())


def test_another_pods_change_triggers_a_failed_write_too() -> None:
    async def story(bench: Bench) -> None:
        bench.server.broken = True
        bench.manager.set_pod_status(make_pod("a"), make_status("Running"))
        await bench.rest(1)
        bench.server.broken = False
        bench.manager.set_pod_status(make_pod("b"), make_status("Running"))
        await bench.rest(1)
        assert [call[2] for call in bench.server.calls] == ["a", "a", "Running", "b", "Running"]

    play(story, make_pod("a"), make_pod("b"))


def test_changes_by_other_clients_are_corrected_within_ten_seconds_and_then_the_node_is_idle() -> None:
    async def story(bench: Bench) -> None:
        bench.manager.set_pod_status(make_pod(), make_status("Running"))
        await bench.rest(32)
        calls = len(bench.server.calls)
        pod = bench.server.pods["p"]
        bench.server.pods["p"] = pod.changed(status=pod.status.changed(phase="Failed"))
        bench.observe("p")
        await bench.rest(20)
        assert [call[1] for call in bench.server.calls[calls:]] == ["get", "patch"]
        assert bench.server.pods["p"].status.phase == "Running"
        calls = len(bench.server.calls)
        await bench.rest(86_400)
        assert len(bench.server.calls) == calls

    play(story, make_pod())


def test_a_terminal_phase_is_delayed_while_something_may_run() -> None:
    async def story(bench: Bench) -> None:
        bench.could_run = True
        bench.manager.set_pod_status(make_pod(), make_status("Failed", reason="Evicted"))
        await bench.rest(1)
        assert bench.server.pods["p"].status.phase == "Pending"
        bench.could_run = False
        await bench.rest(15)
        assert (bench.server.pods["p"].status.phase, bench.server.pods["p"].status.reason) == ("Failed", "Evicted")

    play(story, make_pod())


def test_a_finished_pod_is_deleted_once_the_api_has_its_final_status() -> None:
    async def story(bench: Bench) -> None:
        deleted = make_pod(deletionTimestamp="2000-01-01T00:00:00Z")
        bench.pods.update(deleted)
        bench.manager.set_pod_status(deleted, make_status("Succeeded"))
        await bench.rest(1)
        assert [call[1] for call in bench.server.writes()] == ["patch"]
        bench.manager.terminate_pod(deleted)
        await bench.rest(1)
        assert [call[1] for call in bench.server.writes()] == ["patch", "delete"]
        assert bench.manager.get_pod_status("uid-p") is None

    play(story, make_pod(deletionTimestamp="2000-01-01T00:00:00Z"))


def test_a_pod_that_ended_earlier_is_deleted_by_the_full_pass_after_its_deletion() -> None:
    async def story(bench: Bench) -> None:
        bench.manager.set_pod_status(make_pod(), make_status("Succeeded"))
        bench.manager.terminate_pod(make_pod())
        await bench.rest(25)
        pod = bench.server.pods["p"]
        bench.server.pods["p"] = pod.changed(metadata=pod.metadata.changed(deletion_timestamp="2000-01-01T00:00:25Z"))
        bench.observe("p")
        await bench.rest(10)
        assert bench.server.writes()[-1][:2] == (30.01, "delete")

    play(story, make_pod())


def test_a_terminated_container_cannot_run_again() -> None:
    def with_state(state: dict[str, Any]) -> PodStatus:
        return make_status("Running", containerStatuses=[{"name": "c", "state": state}])

    async def story(bench: Bench) -> None:
        pod = make_pod()
        assert bench.manager.set_pod_status(pod, with_state({"terminated": {"exitCode": 1}}))
        assert not bench.manager.set_pod_status(pod, with_state({"running": {}}))

    play(story, make_pod())


def test_a_static_pods_status_is_written_to_its_mirror_and_again_to_the_next_one() -> None:
    async def story(bench: Bench) -> None:
        bench.server.pods.clear()
        static = make_pod(annotations={CONFIG_SOURCE: "file"})
        bench.pods.update(static)
        bench.manager.set_pod_status(static, make_status("Running"))
        await bench.rest(1)
        assert bench.server.calls == []
        for uid in ("mirror-1", "mirror-2"):
            mirror = make_pod(uid=uid, annotations={CONFIG_SOURCE: "api", CONFIG_MIRROR: "h"})
            bench.server.pods["p"] = mirror
            if uid == "mirror-2":
                bench.pods.remove(make_pod(uid="mirror-1", annotations={CONFIG_MIRROR: "h"}))
            bench.observe("p")
            await bench.rest(11)
            assert bench.manager.api_status_versions[uid] == 1
        assert [call[1] for call in bench.server.writes()] == ["patch", "patch"]
        await bench.rest(11)
        assert bench.manager.api_status_versions == {"mirror-2": 1}

    play(story)


def test_a_pod_created_again_under_the_same_name_does_not_get_the_old_status() -> None:
    async def story(bench: Bench) -> None:
        bench.server.pods["p"] = make_pod(uid="another")
        bench.manager.set_pod_status(make_pod(), make_status("Running"))
        await bench.rest(1)
        assert bench.server.writes() == []
        assert bench.manager.get_pod_status("uid-p") is None

    play(story, make_pod())


def test_executing_every_tick_or_only_the_needed_ones_gives_the_same_trace() -> None:
    def run(every_tick: bool) -> list[Any]:
        records: list[Any] = []

        async def main() -> None:
            bench = Bench(make_pod())
            async with TaskSet() as tasks:
                tasks.start("status manager", bench.manager.run())
                for n, phase in enumerate(("Pending", "Running", "Running", "Succeeded")):
                    bench.server.broken = n == 1
                    bench.manager.set_pod_status(make_pod(), make_status(phase, message=str(n)))
                    await bench.rest(17.3)
                    bench.server.broken = False
                    bench.observe("p")
                    await bench.rest(41.9)
            records.extend(record.to_json() for record in bench.sink.records)

        with ticks(every_tick=every_tick):
            run_virtual(main)
        return records

    assert run(every_tick=True) == run(every_tick=False)


def test_termination_messages_share_a_limit_and_are_truncated_by_bytes() -> None:
    pod = Pod.from_json({"spec": {"containers": [{"name": n} for n in "ab"], "initContainers": [{"name": "i"}]}})
    status = PodStatus.from_json(
        {
            "containerStatuses": [
                {"name": "b", "state": {"terminated": {"exitCode": 1, "message": "x" * 4095 + "é"}}},
                {"name": "a", "lastState": {"terminated": {"exitCode": 1}}},
            ]
        }
    )
    first, second = normalize_status(pod, status).container_statuses
    assert (first.name, second.name) == ("a", "b")
    assert second.state.terminated is not None
    assert second.state.terminated.message == "x" * 4095 + "\ufffd"


def test_resize_conditions_keep_their_generation_until_cleared() -> None:
    resize = ResizeConditions()
    assert resize.set_pending("u", "NodeCapacity", "later", 2, 0)
    assert not resize.set_pending("u", "Deferred", "still", 2, SECOND)
    assert resize.is_deferred("u")
    assert not resize.is_infeasible("u")
    assert resize.set_in_progress("u", "Error", "boom", 3, SECOND) == (3, True)
    assert resize.set_in_progress("u", "", "", 4, 2 * SECOND) == (3, False)
    assert [c.reason for c in resize.get("u")] == ["Deferred", "Error"]
    assert resize.clear_in_progress("u") == (3, True)
    assert resize.clear_in_progress("u") == (0, False)

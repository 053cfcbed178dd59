"""Simulated containers: command lines in images, behaviours, termination messages, and ports."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from signal import SIGKILL, SIGTERM
from typing import Any

import pytest

from kubesim.api.pod import Container, Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.errors import RuntimeCallError
from kubesim.runtime.network.node_network import ConnectError, NetworkError, NodeRequest
from kubesim.runtime.protocol import ContainerConfig, SandboxConfig
from kubesim.runtime.simulated.containers.behaviour import Behaviour, LogEntry
from kubesim.runtime.simulated.containers.command_line import command_line
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, Exit, ProcessContext
from kubesim.runtime.simulated.containers.programs import Programs
from kubesim.runtime.simulated.draws import DrawnChoice, Exponential
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.runtime.simulated.settings import Span
from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.runtime.types import ContainerMount
from kubesim.runtime.volume_directories import VolumeDirectory
from kubesim.trace import MemorySink, Recorder

IP = "10.88.0.10"


class Bench:
    """One node on which containers are started without a runtime."""

    def __init__(self, behaviours: tuple[Behaviour, ...] = ()) -> None:
        self.clock = LoopClock()
        self.sink = MemorySink()
        self.network = SimulatedNetwork(self.clock)
        self.volumes = NodeVolumes(self.clock.now)
        self.programs = Programs(
            self.clock,
            Randomness(1),
            Recorder(self.clock, self.sink),
            self.network,
            self.volumes,
            host_ip="10.0.0.1",
            behaviours=behaviours,
        )
        self.exits: list[tuple[float, Exit]] = []

    def context(self, container: dict[str, Any], attempt: int = 0, **spec: Any) -> ProcessContext:
        made = Container.from_json({"name": "main", "image": "busybox", **container})
        metadata = {"name": "web", "namespace": "default", "uid": "u"}
        pod = Pod.from_json({"metadata": metadata, "spec": {"containers": [made.to_json()], **spec}})
        mounts = tuple(ContainerMount(mount["name"], mount["mountPath"]) for mount in made.volume_mounts)
        env = tuple((v.name, v.value) for v in made.env)
        config = ContainerConfig(made, attempt, "", {}, {}, env=env, mounts=mounts)
        name = "" if pod.spec.host_network else pod.metadata.name
        return ProcessContext(pod, made, config, IP, "id", SandboxConfig(pod, 0, {}, {}, name))

    def start(self, container: dict[str, Any], attempt: int = 0, **spec: Any) -> ContainerProcess:
        process = self.programs.make(self.context(container, attempt, **spec))
        process.start(lambda exit: self.exits.append((self.clock.elapsed() / SECOND, exit)))
        return process

    async def get(self, port: int) -> int:
        request = NodeRequest("http", IP, port, "/", f"http://{IP}:{port}/")
        return (await self.network.http_get(request, SECOND)).status


def on_a_bench(test: Callable[[Bench], Coroutine[Any, Any, None]], *behaviours: Behaviour) -> None:
    async def main() -> None:
        await test(Bench(behaviours))

    run_virtual(main)


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"image": "nginx:1.27"}, ("nginx", "-g", "daemon off;")),
        ({"image": "registry.k8s.io/pause:3.10"}, ("/pause",)),
        ({"image": "busybox"}, ("sh",)),
        ({"image": "busybox", "args": ["echo", "$(A)"]}, ("echo", "b")),
        ({"image": "nginx", "command": ["cat"], "args": ["$$(A)", "$(B)"]}, ("cat", "$(A)", "$(B)")),
        ({"image": "example.com/shop@sha256:0", "args": ["--fast"]}, ("shop", "--fast")),
    ],
)
def test_command_lines(container: dict[str, Any], words: tuple[str, ...]) -> None:
    assert command_line(Container.from_json(container), {"A": "b"}) == words


def test_a_command_line_runs_in_virtual_time_and_leaves_its_message() -> None:
    async def test(bench: Bench) -> None:
        command = ["sh", "-c", "sleep 2; echo because > /dev/termination-log; exit 3"]
        bench.start({"command": command, "terminationMessagePath": "/dev/termination-log"})
        await bench.clock.sleep(5 * SECOND)
        assert bench.exits == [(2.0, Exit(3, message="because\n"))]

    on_a_bench(test)


def test_a_failed_container_without_a_message_may_use_its_log() -> None:
    async def test(bench: Bench) -> None:
        container = {
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }
        bench.start({**container, "command": ["sh", "-c", "echo one; echo two; exit 1"]})
        bench.start({**container, "command": ["sh", "-c", "echo fine"]})
        await bench.clock.sleep(SECOND)
        assert [exit.message for _, exit in bench.exits] == ["one\ntwo\n", ""]

    on_a_bench(test)


def test_a_path_that_no_image_has_cannot_be_started() -> None:
    async def test(bench: Bench) -> None:
        problem = bench.programs.start_error(bench.context({"command": ["/no/such/command"]}))
        assert 'exec: "/no/such/command": stat /no/such/command: no such file or directory: unknown' in problem
        assert not bench.programs.start_error(bench.context({"command": ["sleep", "1"]}))

    on_a_bench(test)


def test_an_exec_of_a_missing_program_is_a_runtime_error() -> None:
    async def test(bench: Bench) -> None:
        process = bench.start({"command": ["sleep", "100"]})
        assert (await process.exec(("echo", "hi"))).stdout == "hi\n"
        with pytest.raises(RuntimeCallError, match='exec: "gizmo": executable file not found'):
            await process.exec(("gizmo",))

    on_a_bench(test)


def test_an_unknown_program_serves_its_ports_until_it_is_stopped() -> None:
    async def test(bench: Bench) -> None:
        process = bench.start({"image": "shop", "ports": [{"containerPort": 8080}]})
        assert await bench.get(8080) == 200
        with pytest.raises(ConnectError, match="connection refused"):
            await bench.get(80)
        process.signal(SIGTERM)
        assert [exit.code for _, exit in bench.exits] == [0]
        with pytest.raises(ConnectError, match="connection refused"):
            await bench.get(8080)

    on_a_bench(test)


def test_a_known_server_listens_on_its_usual_port() -> None:
    async def test(bench: Bench) -> None:
        bench.start({"image": "nginx", "ports": [{"containerPort": 8080}]})
        assert await bench.get(80) == 200
        with pytest.raises(ConnectError):
            await bench.get(8080)

    on_a_bench(test)


def test_an_address_of_a_removed_pod_does_not_answer() -> None:
    async def test(bench: Bench) -> None:
        bench.start({"image": "nginx"})
        bench.programs.forget("u")
        began = bench.clock.now()
        with pytest.raises(NetworkError, match="i/o timeout"):
            await bench.network.tcp_connect(IP, 80, SECOND)
        assert bench.clock.now() - began == SECOND

    on_a_bench(test)


def test_containers_of_a_pod_share_the_volumes_that_were_set_up_for_it() -> None:
    async def test(bench: Bench) -> None:
        bench.volumes.set_up("u", VolumeDirectory("empty-dir/u-shared", "emptyDir", ("shared",)), None)
        bench.volumes.set_up("u", VolumeDirectory("configmap/u-config", "configMap", ("config",)), {"key": "value"})
        mounts = [{"name": "shared", "mountPath": "/shared"}, {"name": "config", "mountPath": "/config"}]
        bench.start({"command": ["sh", "-c", "cat /config/key > /shared/copy"], "volumeMounts": mounts})
        await bench.clock.sleep(SECOND)
        reader = bench.start({"command": ["sleep", "9"], "volumeMounts": mounts})
        assert (await reader.exec(("cat", "/shared/copy"))).stdout == "value"

    on_a_bench(test)


def test_a_behaviour_overrides_the_command_line() -> None:
    async def test(bench: Bench) -> None:
        message = {"terminationMessagePath": "/dev/termination-log"}
        process = bench.start({"command": ["sleep", "100"], "ports": [{"containerPort": 80}], **message})
        assert (await process.exec(("true",))).exit_code == 1
        await bench.clock.sleep(2 * SECOND)
        assert (await process.exec(("true",))).exit_code == 0
        assert await bench.get(80) == 200
        await bench.clock.sleep(5 * SECOND)
        assert [(moment, exit.code, exit.message) for moment, exit in bench.exits] == [(5.0, 7, "tired")]

    behaviour = Behaviour(
        pod="w*", run_for=Span(5 * SECOND), exit_code=Span(7), ready_after=Span(SECOND), termination_message="tired"
    )
    on_a_bench(test, behaviour)


@pytest.mark.parametrize(
    ("code", "policy", "reported"),
    [(1, "FallbackToLogsOnError", "b\nc\n"), (0, "FallbackToLogsOnError", ""), (1, "File", "")],
)
def test_the_log_replaces_a_message(code: int, policy: str, reported: str) -> None:
    async def test(bench: Bench) -> None:
        bench.start({"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": policy})
        await bench.clock.sleep(SECOND)
        assert [exit.message[-4:] for _, exit in bench.exits] == [reported]
        assert len(bench.exits[0][1].message) <= 2048

    lines = tuple(LogEntry(0, text) for text in ("a" * 3000, "b", "c"))
    on_a_bench(test, Behaviour(run_for=Span(MILLISECOND), exit_code=Span(code), log=lines))


def test_a_behaviour_may_apply_to_the_first_starts_only() -> None:
    async def test(bench: Bench) -> None:
        for attempt in range(3):
            bench.start({"command": ["true"]}, attempt)
        await bench.clock.sleep(SECOND)
        assert sorted(exit.code for _, exit in bench.exits) == [0, 1, 1]

    on_a_bench(test, Behaviour(times=2, run_for=Span(MILLISECOND), exit_code=Span(1)))


def test_a_behaviour_handles_signals() -> None:
    async def test(bench: Bench) -> None:
        slow, deaf = bench.start({"name": "slow"}), bench.start({"name": "deaf"})
        slow.signal(SIGTERM)
        deaf.signal(SIGTERM)
        await bench.clock.sleep(5 * SECOND)
        assert bench.exits == [(2.0, Exit(3))]
        deaf.signal(SIGKILL)
        assert bench.exits[1:] == [(5.0, Exit(137))]

    on_a_bench(
        test,
        Behaviour(container="slow", stop_after=Span(2 * SECOND), stop_exit_code=3),
        Behaviour(container="deaf", ignores_term=True),
    )


def test_random_values_come_from_the_seed() -> None:
    def draws(seed: int) -> list[int]:
        stream = Randomness(seed).stream("test")
        ways = (Span(1, 100), Exponential(1000), DrawnChoice((3, 5, 7)))
        return [way.draw(stream) for way in ways for _ in range(20)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert set(draws(1)[40:]) == {3, 5, 7}

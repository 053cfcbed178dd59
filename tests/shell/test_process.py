"""The container's process for the runtime: cost, exec, log, memory, endless loops."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.shell import (
    CommandNotFound,
    CommandResult,
    ExitStatus,
    LoopbackNetwork,
    NotRunning,
    Ports,
    ShellContainer,
    TimedOut,
    VirtualFiles,
    Volume,
    is_missing_program,
)
from kubesim.shell.process import PlanKind, plan
from tests.support.shell import SECOND, container_of, play, run, sh

# Time and cost.


@pytest.mark.parametrize(
    ("script", "seconds", "code"),
    [
        (["sleep", "5"], 5, 0),
        (["sleep", "0.5"], 0.5, 0),
        (["sleep", "1m", "30s"], 90, 0),
        (["sleep", "x"], 0, 1),
        ("sleep 2; exit 3", 2, 3),
        ("sleep 1 & sleep 3 & wait", 3, 0),
        ("sleep 1 | sleep 2", 2, 0),
        ("x=$(sleep 2; echo a); echo $x", 2, 0),
        ("timeout 3 sleep 100", 3, 143),
        ("timeout 30 sleep 1", 1, 0),
        (["true"], 0, 0),
        (["false"], 0, 1),
    ],
)
def test_duration(script: str | list[str], seconds: float, code: int) -> None:
    outcome = run(script)
    assert (outcome.seconds, outcome.code) == (seconds, code)


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (["nginx", "-g", "daemon off;"], PlanKind.SERVE),
        (["/app/server"], PlanKind.SERVE),
        (sh("exec /app/server --port 80"), PlanKind.SERVE),
        (["sleep", "3600"], PlanKind.SLEEP),
        (["sh", "-c", "--", "sleep 3600"], PlanKind.SLEEP),
        (sh("exit 1"), PlanKind.EXIT),
        (sh("true"), PlanKind.EXIT),
        (sh("echo $HOME"), PlanKind.INTERPRET),
        (sh("sleep 1; sleep 2"), PlanKind.INTERPRET),
        (["cat"], PlanKind.INTERPRET),
    ],
)
def test_plans_from_the_command_line(argv: list[str], kind: PlanKind) -> None:
    assert plan(tuple(argv)).kind is kind


@pytest.mark.parametrize("argv", [["sleep", "100000"], ["nginx"], sh("sleep 100000")])
def test_an_idle_container_is_small_and_has_no_task(argv: list[str]) -> None:
    async def main() -> float:
        clock = LoopClock()
        container_of(argv, clock).start()
        await clock.sleep(SECOND)
        gc.collect()
        tasks = len(asyncio.all_tasks())
        tracemalloc.start()
        containers = [container_of(argv, clock) for _ in range(200)]
        for container in containers:
            container.start()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(asyncio.all_tasks()) == tasks
        for container in containers:
            container.kill()
        return size / 200

    assert run_virtual(main) < 3072


def test_scripts_need_no_task() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> int:
        await clock.sleep(SECOND)
        assert len(container.processes()) == 4
        return len(asyncio.all_tasks())

    assert play("sleep 100 & (sleep 50; echo) & sleep 1000", story) == 1


def test_no_end_is_reported_before_start_returns() -> None:
    async def main() -> list[str]:
        reported: list[str] = []
        container = container_of(["true"], LoopClock(), on_exit=lambda status: reported.append(f"exit {status.code}"))
        container.start()
        reported.append("started")
        await container.exited()
        return reported

    assert run_virtual(main) == ["started", "exit 0"]


# Exec.


def test_exec_shares_files_and_environment_but_not_variables() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        await clock.sleep(SECOND)
        assert await container.exec(["cat", "/tmp/f"]) == CommandResult(0, "hello\n", "")
        assert await container.exec(sh("echo $GIVEN $OWN $$; exit 4")) == CommandResult(4, "given 3\n", "")
        assert await container.exec(["cat", "/tmp/g"]) == CommandResult(
            1, "", "cat: can't open '/tmp/g': No such file or directory\n"
        )
        assert clock.elapsed() == SECOND

    play("OWN=own; echo hello > /tmp/f; sleep 100", story, environment={"GIVEN": "given"})


def test_exec_takes_virtual_time_and_is_killed_after_the_timeout() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        assert await container.exec(sh("echo begun; sleep 2")) == CommandResult(0, "begun\n", "")
        assert clock.elapsed() == 2 * SECOND
        assert await container.exec(sh("echo begun; sleep 20"), timeout=SECOND) == TimedOut("begun\n", "")
        assert clock.elapsed() == 3 * SECOND
        assert len(container.processes()) == 1

    play(["nginx"], story)


def test_exec_of_an_unknown_program() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        assert await container.exec(["pg_isready"]) == CommandNotFound("pg_isready")
        assert await container.exec(["/bin/nothing"]) == CommandNotFound("/bin/nothing")
        assert await container.exec(sh("pg_isready; echo $?")) == CommandResult(
            0, "127\n", "sh: pg_isready: not found\n"
        )

    play(["postgres"], story)


def test_exec_ends_with_its_container() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        exec_call = asyncio.ensure_future(container.exec(["sleep", "100"]))
        await clock.sleep(SECOND)
        container.kill()
        assert await exec_call == CommandResult(137, "", "")
        assert await container.exec(["true"]) == NotRunning()

    play(["nginx"], story)


def test_cancelling_an_exec_kills_it() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        exec_call = asyncio.ensure_future(container.exec(["sleep", "100"]))
        await clock.sleep(SECOND)
        assert len(container.processes()) == 2
        exec_call.cancel()
        await asyncio.wait([exec_call])
        assert len(container.processes()) == 1

    play(["nginx"], story)


def test_an_exec_can_stop_the_container() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        assert await container.exec(["kill", "1"]) == CommandResult(137, "", "")
        assert await container.exited() == ExitStatus(0)

    play(["my-server"], story)


# Log.


def test_the_log_has_times_and_streams() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> list[tuple[float, str, str]]:
        await container.exited()
        return [((line.time - clock.start) / SECOND, line.stream, line.text) for line in container.log.lines]

    assert play("echo a; sleep 1; echo b >&2; printf 'no newline'", story) == [
        (0, "stdout", "a"),
        (1, "stderr", "b"),
        (1, "stdout", "no newline"),
    ]


def test_the_log_is_bounded() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        container.log.limit = 100
        await container.exited()
        assert len(container.log.lines) == 100
        assert container.log.dropped == 400
        assert container.log.lines[-1].text == "500"

    play("for i in $(seq 500); do echo $i; done", story)


# Memory.


@pytest.mark.parametrize(
    "script",
    [
        "tail /dev/zero",
        "sleep 1; tail /dev/zero",
        "head -c 100M /dev/zero | tail",
        "tail /dev/zero; echo survived; sleep 100",
        "x=xxxxxxxxxx; while :; do x=$x$x; done",
        "read x < /dev/zero",
    ],
)
def test_allocating_all_memory_is_an_oom_kill(script: str) -> None:
    outcome = run(script)
    assert outcome.status == ExitStatus(137, 9, oom_killed=True)
    assert outcome.out == ""


def test_stress_is_killed_only_above_the_limit() -> None:
    argv = ["stress", "--vm", "1", "--vm-bytes", "250M", "--vm-hang", "1", "--timeout", "5s"]
    assert run(argv, memory_limit=100 << 20).status.oom_killed
    assert run(argv, memory_limit=300 << 20).status == ExitStatus(0)
    assert run("head -c 1M /dev/zero | tail | wc -c").out == "1048576\n"


# Loops that never wait.


@pytest.mark.parametrize(
    "script",
    [
        "while true; do :; done",
        "while true; do echo x; done",
        "while true; do echo x | cat > /dev/null; done",
        "until false; do sleep 0; done",
        "cat /dev/zero > /dev/null",
        "while true; do (true) & done",
        "f() { while :; do :; done; }; f",
    ],
)
def test_a_busy_loop_is_a_server_that_uses_a_cpu(script: str) -> None:
    notes: list[str] = []

    async def story(container: ShellContainer, clock: LoopClock) -> None:
        await clock.sleep(30 * SECOND)
        assert container.running
        assert len(container.log.lines) <= container.log.limit

    play(script, story, note=notes.append)
    assert len([note for note in notes if "never waits" in note]) == 1


def test_a_busy_loop_still_runs_its_trap() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> tuple[ExitStatus, int]:
        await clock.sleep(20 * SECOND)
        container.signal(15)
        return await container.exited(), clock.elapsed()

    assert play("trap 'exit 5' TERM; while :; do :; done", story) == (ExitStatus(5), 20 * SECOND)


def test_a_counting_loop_finishes() -> None:
    outcome = run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i")
    assert outcome.out == "20000\n"
    assert 0 < outcome.seconds < 1


def test_endless_recursion_and_forks_are_bounded() -> None:
    assert run("f() { f; }; f").code == 2
    assert run("while :; do sleep 1000 & done").code == 2


# What is unknown.


def test_an_unknown_program_is_a_server_and_the_caller_is_notified() -> None:
    notes: list[str] = []

    async def story(container: ShellContainer, clock: LoopClock) -> None:
        await clock.sleep(86_400 * SECOND)
        assert container.running

    play(["/app/my-server", "--port", "80"], story, note=notes.append)
    play("until check-database; do sleep 1; done; echo never", story, note=notes.append)
    assert notes == [
        "/app/my-server is not simulated: it runs as a server until it is stopped",
        "check-database is not simulated: it runs as a server until it is stopped",
    ]


def test_a_script_file_is_run() -> None:
    files = VirtualFiles()
    files.mount("/scripts", Volume({"run.sh": "#!/bin/sh\necho run $1 in $(pwd)\nexit 3\n"}))
    for argv in (["/scripts/run.sh", "x"], ["sh", "/scripts/run.sh", "x"], sh("/scripts/run.sh x")):
        outcome = run(argv, files=files, working_directory="/tmp")
        assert (outcome.out, outcome.code) == ("run x in /tmp\n", 3)


def test_a_command_that_is_in_no_image() -> None:
    files = VirtualFiles()
    files.mount("/plugin", Volume({"start": "echo hi"}))
    assert is_missing_program(["/no/such/command"], files)
    assert not any(
        is_missing_program([name], files) for name in ("sh", "/bin/sh", "/opt/x/y", "/server", "/plugin/start")
    )


def test_a_tool_that_is_not_simulated_succeeds() -> None:
    outcome = run("apk add curl && echo installed")
    assert outcome.out == "installed\n"
    assert outcome.notes == ["apk is not simulated: it exits with 0 at once"]


def test_two_servers_cannot_have_the_same_port() -> None:
    ports = Ports()

    async def story(container: ShellContainer, clock: LoopClock) -> None:
        second = container_of(["nginx"], clock, network=LoopbackNetwork(ports))
        second.start()
        assert await second.exited() == ExitStatus(1)
        assert second.log.text() == "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address in use)\n"
        container.kill()
        assert ports.numbers() == ()

    play(["nginx"], story, network=LoopbackNetwork(ports))


def test_an_open_stdin_never_ends() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> bool:
        await clock.sleep(SECOND)
        return container.running

    assert play(["sh"], story, stdin_open=True)
    assert not play(["sh"], story)


def test_runs_are_deterministic() -> None:
    script = "echo $RANDOM $(mktemp) $$; (sleep 0.1; echo $RANDOM) & wait; date; hostname"
    assert run(script).out == run(script).out

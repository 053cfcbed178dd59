"""Signals, traps and jobs: the rules that make containers hard to stop."""

from __future__ import annotations

import pytest

from kubesim.clock import LoopClock
from kubesim.shell import ExitStatus, ShellContainer
from tests.support.shell import SECOND, play, run

TERM, INT, KILL = 15, 2, 9


def stopped(
    script: str | list[str], *, after: float = 5, number: int = TERM, grace: float = 30
) -> tuple[float, ExitStatus]:
    """Stop a container as a runtime does: a signal, then KILL. Returns the seconds since the signal, and the exit
    status.
    """

    async def story(container: ShellContainer, clock: LoopClock) -> tuple[float, ExitStatus]:
        await clock.sleep(round(after * SECOND))
        begin = clock.now()
        clock.call_at(begin + round(grace * SECOND), container.kill)
        container.signal(number)
        status = await container.exited()
        return (clock.now() - begin) / SECOND, status

    result: tuple[float, ExitStatus] = play(script, story)
    return result


@pytest.mark.parametrize(
    "script",
    [
        ["sleep", "1000"],
        ["sleep", "infinity"],
        ["tail", "-f", "/dev/null"],
        "sleep 1000",
        "while :; do sleep 1; done",
        "sleep 1000; echo done",
        "mkdir /w; httpd -f -p 8080 -h /w",
        ["python3", "-m", "http.server", "8080"],
        "trap 'exit 0' TERM; sleep 1000",  # the trap waits for the foreground command
        "trap '' TERM; sleep 1000 & wait",
        "my-server --port 80; echo",  # the shell is PID 1, not the server
    ],
)
def test_pid_1_without_a_handler_must_be_killed(script: str | list[str]) -> None:
    assert stopped(script) == (30, ExitStatus(137, KILL))


@pytest.mark.parametrize(
    ("script", "seconds", "code"),
    [
        ("trap 'exit 0' TERM; sleep 100000 & wait", 0, 0),
        ("trap 'exit 3' SIGTERM; sleep 100000 & wait $!", 0, 3),
        ("trap 'exit 4' 15; sleep 100000 & wait", 0, 4),
        ("trap 'exit 0' TERM; while :; do sleep 1; done", 0.5, 0),
        ("trap 'sleep 2; exit 0' TERM; while :; do sleep 1; done", 2.5, 0),
        ("trap 'kill $child; wait $child; exit 5' TERM; sleep 1000 & child=$!; wait", 0, 5),
        ("trap 'echo bye' EXIT; trap 'exit 6' TERM; sleep 1000 & wait", 0, 6),
        ("trap 'true' TERM; sleep 1000 & wait", 0, 143),  # wait was interrupted, and it was the last command
        ("trap 'true' TERM; sleep 8 & wait; wait", 2.5, 0),
        (["my-server"], 0, 0),
        ("my-server --flag", 0, 0),
        ("echo prepared; exec my-server", 0, 0),
        ("echo prepared; my-server", 0, 0),  # the last command replaces the shell
        (["java", "-jar", "app.jar"], 0, 143),
    ],
)
def test_pid_1_with_a_handler_exits_by_itself(script: str | list[str], seconds: float, code: int) -> None:
    assert stopped(script, after=5.5) == (seconds, ExitStatus(code))


def test_int_can_be_trapped() -> None:
    assert stopped("trap 'exit 1' INT; sleep 100 & wait", number=INT) == (0, ExitStatus(1))


def test_a_process_other_than_pid_1_dies_of_a_signal() -> None:
    assert run("sleep 100 & kill $!; wait $!; echo $?").out == "143\n"
    assert run("sleep 100 & kill -9 $!; wait $!; echo $?").out == "137\n"
    assert run("sleep 100 & kill -s INT %1; wait %1; echo $?").out == "130\n"
    assert run("my-server & kill $!; wait $!; echo $?").out == "0\n"
    assert run("sh -c 'kill -TERM $$; echo never'; echo $?").out == "143\n"


def test_pid_1_cannot_kill_itself() -> None:
    assert run("kill -9 $$; kill -TERM $$; echo $$ alive").out == "1 alive\n"


def test_in_a_shared_pid_namespace_no_container_process_is_protected() -> None:
    assert run(["sh", "-c", "kill -TERM $$; echo never"], pids=iter(range(7, 100))).status == ExitStatus(143, TERM)


def test_the_end_of_pid_1_ends_all_processes() -> None:
    outcome = run("(sleep 1; echo too late) & my-server & exit 2")
    assert (outcome.code, outcome.out, outcome.seconds) == (2, "", 0)


def test_background_jobs_run_concurrently_with_the_script() -> None:
    outcome = run("(sleep 2; echo two) & (sleep 1; echo one) & echo now; wait; echo all")
    assert (outcome.out, outcome.seconds) == ("now\none\ntwo\nall\n", 2)


def test_wait_returns_the_code_of_the_job() -> None:
    assert (
        run("(sleep 1; exit 7) & (exit 8) & wait %1; echo $?; wait $!; echo $?; wait 999; echo $?").out == "7\n8\n127\n"
    )
    assert run("(sleep 3; exit 3) & (sleep 1; exit 1) & wait -n; echo $?; wait; echo $?").out == "1\n0\n"


def test_a_trap_sees_and_keeps_the_exit_status() -> None:
    assert run("trap 'echo in $?; true' USR1; (exit 4); kill -USR1 $$; echo after").out == "in 0\nafter\n"


def test_subshells_reset_traps_but_keep_ignored_signals() -> None:
    assert run("trap 'echo caught' USR1; (kill -USR1 $$; true); echo end").out == "caught\nend\n"
    assert run("trap '' USR1; sh -c 'kill -USR1 $$; echo alive'").out == "alive\n"
    assert run("trap 'echo caught' USR1; trap - USR1; sh -c 'kill -USR1 $$; echo alive'; echo $?").out == "138\n"


def test_a_signal_to_an_exited_container_has_no_effect() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> ExitStatus:
        await clock.sleep(SECOND)
        container.signal(TERM)
        return await container.exited()

    assert play("exit 3", story) == ExitStatus(3)

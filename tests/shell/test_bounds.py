"""Limits of a container: without a limit, each script would use all time or memory of the machine."""

from __future__ import annotations

import pytest

from kubesim.clock import LoopClock
from kubesim.shell import ExitStatus, ShellContainer
from kubesim.shell.limits import LOG_LIMIT, PROCESS_LIMIT
from tests.support.shell import SECOND, output, play, run

OOM_KILLED = ExitStatus(137, 9, oom_killed=True)
A_LOT = "x=$(yes a | head -n 60000 | tr -d '\\n')"  # 60,000 characters


# Work.


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -cE '(a+)+$'", "0\n"),
        ("echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | sed -E 's/(a|a)*c/x/;s/^a*//'", "b\n"),
        ("expr aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab : '\\(a*\\)*c'", "\n"),
        (f"{A_LOT}; case $x in *a*a*a*a*a*a*a*b) echo y;; *) echo n;; esac", "n\n"),
        (f"{A_LOT}; y=${{x#*b}}; z=${{y%%b*a}}; echo ${{#z}}", "60000\n"),
        (f"{A_LOT}; y=${{x//a*b/c}}; echo ${{#y}}", "60000\n"),
        ("echo $((9 ** 999999999999)) $((1 << 99999999999))", "4369432505493098041 -9223372036854775808\n"),
        ("seq 30000 | tr '\\n' , | cut -d, -f $(seq -s , 1 2 5000) | tr , '\\n' | tail -n 1", "4999\n"),
        ("yes | head -n 3", "y\ny\ny\n"),
    ],
)
def test_a_bad_pattern_or_number_does_not_hang(script: str, expected: str) -> None:
    assert run(script).out == expected


def test_sed_with_back_references_and_groups() -> None:
    assert run(r"echo ab12 | sed 's/\([a-z]*\)\([0-9]*\)/\2-\1 &/'").out == "12-ab ab12\n"
    outcome = run(r"echo aa | sed 's/\(a\)\1/b/'")
    assert (outcome.err, outcome.code) == ("sed: bad regex: Invalid back reference\n", 1)


@pytest.mark.parametrize(
    "script",
    [
        "while :; do (i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done); done",
        "while :; do (i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done) & done",
        "f() { f | f & }; f; sleep 30",
        "echo 'sh /tmp/s & sh /tmp/s &' > /tmp/s; sh /tmp/s; sleep 30",
        "tail -f /tmp/f > /tmp/f & sleep 1; echo x > /tmp/f; sleep 30",
        "cat /dev/zero | tr '\\0' a | tr a b > /dev/null",
        "cd /tmp; for i in $(seq 3000); do : > $i; done; while :; do echo * > /dev/null; done",
        "yes > /dev/null",
    ],
)
def test_the_work_of_many_processes_is_added_up(script: str) -> None:
    """They are slowed down, and time advances."""
    notes: list[str] = []

    async def story(container: ShellContainer, clock: LoopClock) -> int:
        await clock.sleep(20 * SECOND)
        assert len(container.processes()) <= PROCESS_LIMIT
        return container.kernel.held

    assert play(script, story, note=notes.append) < 16 << 20
    assert len([note for note in notes if "never waits" in note]) == 1


def test_too_many_processes() -> None:
    outcome = run("for i in $(seq 600); do sleep 100 & done; echo not here")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "sh: can't fork: Resource temporarily unavailable\n"


@pytest.mark.parametrize(
    "script",
    [
        "f() { x=$(f); }; f",
        'x=\'eval "$x"\'; eval "$x"',
        "(" * 500 + "echo" + ")" * 500,
        'echo "$(' * 100 + "echo" + ')"' * 100,
        "echo " + "${x:-" * 2000 + "x" + "}" * 2000,
        "echo $((" + "(" * 500 + "1" + ")" * 500 + "))",
        "trap 'kill -TERM $$' TERM; kill -TERM $$; sleep 1",
        "echo 'sh /tmp/s' > /tmp/s; sh /tmp/s",
    ],
)
def test_too_deep_nesting_is_an_error(script: str) -> None:
    outcome = run(script)
    assert outcome.code == 2
    assert "nested too deeply" in outcome.err or "recursion loop" in outcome.err


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("x=$((1" + "0" * 5000 + "))", "sh: Numerical result out of range"),
        ("date -d @99999999999999999999", "sh: date: Numerical result out of range"),
        ("head -n " + "9" * 5000 + " /dev/null", "head: Numerical result out of range"),
        ("seq 1 1000000000 > /dev/null", "seq: Cannot allocate memory"),
        (f"{A_LOT}; cat $x$x$x", "sh: cat: Argument list too long"),
        (f"{A_LOT}; export y=$x$x$x; cat /dev/null", "sh: cat: Argument list too long"),
        (f"{A_LOT}; : > /tmp/$x", "sh: can't create /tmp/" + "a" * 60_000 + ": File name too long"),
        (
            "seq 20000 | tr -d '\\n' | grep '1.\\{250\\}.\\{250\\}.\\{250\\}x'",
            "grep: regular expression too big for this text",
        ),
        ("echo x | grep -E '((a{99}){99}){99}'", "grep: bad regex '((a{99}){99}){99}': Regular expression too big"),
    ],
)
def test_error_messages_equal_those_of_linux(script: str, complaint: str) -> None:
    outcome = run(script)
    assert outcome.err.replace("\n", "").startswith(complaint)
    assert outcome.code != 0


def test_a_container_with_too_long_arguments_fails_to_start() -> None:
    outcome = run(["sh", "-c", "echo " + "x" * (128 << 10)])
    assert (outcome.code, outcome.out, outcome.err) == (255, "", "exec /bin/sh: argument list too long\n")
    assert run(["sleep", "5"], environment={"X": "x" * (3 << 20)}).code == 255


# Memory.


@pytest.mark.parametrize(
    "script",
    [
        f"{A_LOT}; y=" + "$x" * 40_000,
        f"{A_LOT}; cat <<E\n" + "$x" * 40_000 + "\nE",
        "set -- a b c d; " + 'set -- "$@" "$@"; ' * 40,
        f"{A_LOT}; i=0; while :; do i=$((i+1)); eval y$i=\\$x; done",
        f'{A_LOT}; i=0; while :; do i=$((i+1)); eval "f$i() {{ echo $x; }}"; sleep 0.01; done',
        "x=$(head -c 100M /dev/zero)",
        "for i in $(seq 100); do (yes | head -c 100k | tail -c 99k | (read x; sort; sleep 10)) & done; wait",
        "printf %999999999d 1",
        "printf \"$(for i in $(seq 999); do printf '%%99999d'; done)\"",
        "while :; do i=$((i+1)); eval y$i=1; [ $((i % 1000)) -eq 0 ] && sleep 0.1; done",
    ],
)
def test_growing_memory_is_an_oom_kill(script: str) -> None:
    assert run(script, memory_limit=2 << 20).status == OOM_KILLED


def test_memory_is_freed() -> None:
    script = f"""{A_LOT}
        for i in $(seq 20); do y=$x$x; unset y; z=$(echo $x$x); (w=$x$x$x); done
        f() {{ local v=$x; }}; for i in $(seq 20); do f; U=$x$x true; done; echo done"""
    assert run(script, memory_limit=1 << 20).out == "done\n"


# Files and output.


def test_a_full_volume() -> None:
    script = (
        "i=0; while head -c 4000000 /dev/zero > /tmp/f$i; do i=$((i+1)); done; echo $i; rm /tmp/f*; echo x > /tmp/y"
    )
    outcome = run(script)
    assert (outcome.out, outcome.code) == ("8\n", 0)
    assert outcome.err == "head: write error: No space left on device\n"


def test_too_many_files() -> None:
    outcome = run("for i in $(seq 10010); do : > /tmp/$i; done 2> /dev/null; ls /tmp | wc -l; : > /tmp/more")
    assert outcome.out == "10000\n"
    assert outcome.err == "sh: can't create /tmp/more: No space left on device\n"


def test_endless_output_is_limited() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> tuple[int, bool]:
        await clock.sleep(20 * SECOND)
        return len(output(container, "stdout")), container.log.dropped > 0

    size, dropped = play("x=$(printf 'a%.0s' $(seq 9000)); while :; do echo $x; sleep 0.01; done", story)
    assert LOG_LIMIT - 10_000 < size < LOG_LIMIT + 10_000
    assert dropped

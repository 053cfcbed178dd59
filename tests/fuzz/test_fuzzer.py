"""The fuzzer itself detects all violations."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from kubesim.cli import main as command
from tests.support.fuzz import worker
from tests.support.fuzz.families import Invocation
from tests.support.fuzz.mutations import COUNTS, MOST, Mutator
from tests.support.fuzz.verdict import problem_of, slowness

FINE = "kubesim: error: a.yaml:3: spec: must be an object\n"


@pytest.mark.parametrize(
    ("code", "out", "err", "problem"),
    [
        (0, "fine\n", "", ""),
        (2, "", FINE, ""),
        (4, "", "", "exit code 4"),
        (None, "", "", "exit code None"),
        (2, "", "", "exit code 2 without one line"),
        (2, "", FINE + FINE, "exit code 2 without one line"),
        (0, "", "Traceback (most recent call last):\n  File ...", "a traceback"),
        (2, "", "kubesim: error: a.yaml: 'NoneType' object is not iterable\n", "an error in Python's words"),
        (0, "", "x.py:1: RuntimeWarning: coroutine 'f' was never awaited\n", "a warning of Python"),
        (0, "name \x1b[31m\n", "", "a control character"),
    ],
)
def test_the_verdict(code: object, out: str, err: str, problem: str) -> None:
    assert problem_of(code, out, err).startswith(problem)
    assert bool(problem_of(code, out, err)) == bool(problem)


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        ("s, seed 0: interrupted after 1m5s on the node, 9 records\n", ""),
        ('{"t": 1.5}\n{"t": 10.0}\n', ""),
        ("s, seed 0: interrupted after 2s on the node, 9 records\n", "10 s of CPU time for 2.0 s of the run"),
        ("kubesim: error: ...", "10 s of CPU time for 0 s of the run"),
    ],
)
def test_a_run_is_slow_if_it_simulates_less_time_than_it_takes(out: str, problem: str) -> None:
    assert slowness(out) == problem


def raising(error: BaseException) -> Callable[[list[str]], int]:
    def run(arguments: list[str]) -> int:
        raise error

    return run


def test_an_uncaught_exception_is_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "main", raising(KeyError("spec")))
    code, out, err = worker.run(Invocation(["run"]))
    assert problem_of(code, out, err).startswith("a traceback")


def test_standard_input_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "from-stdin"}}'
    code, out, err = worker.run(Invocation(["explain", "-", "--at", "2026-01-01T00:00:00Z"], pod))
    assert (code, err) == (0, "")
    assert "from-stdin" in out


def test_too_much_memory_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_MEMORY_MB", 1)
    assert worker._memory_problem().endswith("MB of memory")


def test_mutations_do_not_change_the_original() -> None:
    good = {"spec": {"containers": [{"name": "a", "command": ["sh", "-c", "exit 1"]}], "replicas": 3}}
    mutator = Mutator([good])
    made = [repr(mutator.mutated(Random(number))) for number in range(200)]
    assert repr(mutator.good[0]) == repr(good)
    assert len(set(made)) > 100


def test_counts_are_limited() -> None:
    mutator = Mutator([dict.fromkeys(sorted(COUNTS), 5)])
    trees = [mutator.mutated(Random(number)) for number in range(300)]
    numbers = [value for tree in trees if isinstance(tree, dict) for key, value in tree.items() if key in COUNTS]
    assert all(number <= MOST for number in numbers if isinstance(number, int | float) and number == number)


def test_a_worker_that_uses_too_much_cpu_ends(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = (
        "from tests.support.fuzz import worker\nworker.confine()\nimport signal\n"
        "signal.setitimer(signal.ITIMER_PROF, 0.05)\nwhile True: pass"
    )
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGPROF
    assert 'File "<string>", line 5 in <module>' in ended.stderr

"""`python -m tests.support.fuzz.worker FAMILY FIRST COUNT FOLDER`: runs inputs in one process, with limits for each.

For every input it prints two lines of JSON: `{"begin": N}` and `{"end": N, "problem": TEXT}`. An input that takes too
long gets SIGINT; if it continues, the process ends with the tracebacks of its threads on stderr. The process has its
own network namespace, so an input can reach only the family's server on loopback.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.support.fuzz.families import Invocation, input_of
from tests.support.fuzz.verdict import MAX_MEMORY_MB, MAX_SECONDS, problem_of, slowness

MERCY = 3  # seconds for an interrupted run to end
WALL_SECONDS = 20 * MAX_SECONDS  # allows for other work on the machine
ADDRESS_SPACE = 4 << 30  # protects the machine; used memory is checked separately


def run(invocation: Invocation) -> tuple[object, str, str]:
    """Exit code or exception, stdout, stderr."""
    from kubesim.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(invocation.stdin), encoding="utf-8")
    code: object
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(invocation.arguments)
    except SystemExit as exit:
        code = exit.code
    except BaseException as error:
        code = repr(error)
        err.write(traceback.format_exc())
    finally:
        sys.stdin = before
    return code, out.getvalue(), err.getvalue()


def judged(name: str, number: int, folder: Path) -> str:
    """The problem of an input; its files are kept if there is one."""
    files = folder / "files"
    files.mkdir(parents=True)
    invocation = input_of(name, number, files)
    (folder / "stdin").write_bytes(invocation.stdin)
    was_interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal was_interrupted
        was_interrupted = True
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS + MERCY)
    faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
    code, out, err = run(invocation)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    faulthandler.cancel_dump_traceback_later()
    problem = problem_of(code, out, err) or (slowness(out) if was_interrupted else "") or _memory_problem()
    if problem:
        return f"kubesim {' '.join(invocation.arguments)}\n{problem}"
    shutil.rmtree(folder)
    return ""


def _memory_problem() -> str:
    """The process starts with a fifth of this limit and ends after a few hundred inputs, so exceeding it is due to one
    input.
    """
    [peak] = re.findall(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    used = int(peak) // 1024  # of this program; ru_maxrss would include its parent
    return f"{used} MB of memory" if used > MAX_MEMORY_MB else ""


def confine() -> None:
    """A private network namespace, limits, and a traceback when too much CPU time is used."""
    from kubesim.linux.namespaces import become_private_host

    become_private_host()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
    for name in [name for name in os.environ if name.startswith(("KUBESIM_", "KUBE"))]:
        del os.environ[name]


def main(name: str, first: str, count: str, folder: str) -> None:
    confine()
    os.environ["HOME"] = folder
    os.chdir(folder)

    def say(**fields: Any) -> None:
        print(json.dumps(fields), file=sys.__stdout__, flush=True)

    for number in range(int(first), int(first) + int(count)):
        say(begin=number)
        problem = judged(name, number, Path(folder) / f"{name}-{number}")
        say(end=number, problem=problem)
        if problem and _memory_problem():
            return


if __name__ == "__main__":
    main(*sys.argv[1:])

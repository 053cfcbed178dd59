"""`python -m tests.support.fuzz.worker FAMILY FIRST COUNT FOLDER`: runs inputs in this one process, each bounded.

One line of JSON for every input: `{"begin": N}` before it, `{"end": N,
"problem": TEXT}` after it. An input that takes too
long gets what Ctrl-C sends; one that continues ends the process, and the places where its threads were are on stderr.
The
process has a host of its own: what an input reaches over the network is loopback, and nobody listens there but the
family's own server.
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

MERCY = 3  # seconds for a run to end when it is interrupted
WALL_SECONDS = 20 * MAX_SECONDS  # on a machine that has other work
ADDRESS_SPACE = 4 << 30  # protects the machine; what counts is the memory that was used


def run(invocation: Invocation) -> tuple[object, str, str]:
    """The exit code, or the exception that came out; standard output; standard error."""
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
    """The problem with an input; its files stay if there is one."""
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
    """The process starts with a fifth of it, and ends after a few hundred inputs: more is of this input."""
    [peak] = re.findall(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    used = int(peak) // 1024  # of this program: ru_maxrss would count the process that started it
    return f"{used} MB of memory" if used > MAX_MEMORY_MB else ""


def confine() -> None:
    """A host of one's own, limits, and an end with a traceback for what uses too much of the processor."""
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

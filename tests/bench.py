"""`make bench`: how fast kubesim is here, on one core. Prints; judges nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from kubesim.app import run_scenario
from kubesim.clock.stopwatch import Stopwatch
from kubesim.conformance.runner import run_corpus
from kubesim.scenario.load import parse_scenario
from kubesim.trace import MemorySink

DATA = Path(__file__).parent / "conformance" / "data"
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: pod-{number}}}
spec:
  containers:
  - name: main
    image: busybox:1.36
    command: [sh, -c, "trap 'exit 0' TERM; sleep 100000 & wait"]
---
"""


def line(what: str, figure: str) -> None:
    print(f"{what:<58} {figure:>16}")


def whole_lives(count: int) -> None:
    """Created, Running for 30 s, deleted, gone."""
    scenario = parse_scenario("".join(POD.format(number=number) for number in range(count)), "bench.yaml")
    for kept in (False, True):
        watch = Stopwatch()
        run_scenario(scenario, sinks=(MemorySink(),) if kept else ())
        trace = "kept" if kept else "not kept"
        line(f"whole lives of {count} pods on one node, trace {trace}", f"{count / watch.seconds():.0f} pods/s")


def recorded_lives() -> None:
    result = run_corpus(DATA / "lifecycle_trace.jsonl.gz")
    line("one life of lifecycle_trace", f"{1000 * result.seconds / result.cases:.1f} ms")


def start_up() -> None:
    watch = Stopwatch()
    subprocess.run([sys.executable, "-m", "kubesim", "--help"], stdout=subprocess.DEVNULL, check=True)
    line("kubesim --help", f"{1000 * watch.seconds():.0f} ms")


def main() -> None:
    start_up()
    recorded_lives()
    whole_lives(100)
    line("memory at most", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")


if __name__ == "__main__":
    main()

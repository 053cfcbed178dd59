"""`make bench` of exploring: runs of a scenario of 200 s, in this process and in one or two others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.clock.stopwatch import Stopwatch
from kubesim.executors.processes import ProcessPool
from kubesim.explore.run import Run, RunOutcome
from kubesim.explore.subject import ExploreSubject
from kubesim.values import replace
from tools.process_costs import children_seconds

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: explored}
spec:
  images: [{name: "*", present: true}]
  duration: 200s
  steps: [{at: 100s, delete: {pod: web}}]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: init, image: busybox, command: [sleep, "2"]}]
  containers:
    - {name: main, image: nginx, readinessProbe: {httpGet: {port: 80}}, ports: [{containerPort: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec:
  containers: [{name: main, image: busybox, command: [sh, -c, "sleep 5; exit 1"]}]
"""
RUNS = 100


def explored(line: Callable[[str, str], None]) -> None:
    subject = ExploreSubject("explored.yaml", SCENARIO, ".", "explored")
    tasks = [Run(replace(subject, seed=seed)) for seed in range(RUNS)]
    for task in tasks[:3]:  # imports on first use
        assert not task().problems
    watch = Stopwatch()
    for task in tasks:
        task()
    line("explore: runs of 200 s per second of CPU time (at least 20)", f"{RUNS / watch.cpu_seconds():.0f}/s")
    (one, cpu_of_one), (two, cpu_of_two) = (_costs(tasks, jobs) for jobs in (1, 2))
    line("... two processes: speed to that of one (at least 1.8)", f"{one / two:.2f}")
    line("... and their CPU time to that of one", f"{cpu_of_two / cpu_of_one:.2f}")


def _costs(tasks: Sequence[Run], jobs: int) -> tuple[float, float]:
    """Seconds, and CPU seconds of the processes."""
    watch, before = Stopwatch(), children_seconds()
    outcomes = [outcome for _, outcome in ProcessPool(jobs).results(tasks)]
    assert all(isinstance(outcome, RunOutcome) for outcome in outcomes)
    return watch.seconds(), children_seconds() - before

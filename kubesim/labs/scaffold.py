"""A template: `kubesim lab new NAME` writes a valid lab for a teacher to edit."""

from __future__ import annotations

import re
from pathlib import Path

from kubesim.errors import UsageError
from kubesim.labs.progress import write_file

_LAB = """\
# The questions, and the records of the run that have their answers. `kubesim lab validate` checks this file.
title: {title}
about: a container that ends is started again
belief: A container that ends with exit code 0 is not restarted.
minutes: 5
level: beginner
terms:
  restartPolicy: The field of a pod that decides when its containers are restarted.
  PLEG: The part of the kubelet that lists the containers every second and compares.
links:
  - https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
experiment: Change the exit code in your copy of the scenario, and run it again.

questions:
  - id: second-start
    predict: true
    ask: The container ends with exit code 0 after two seconds. How long until it is started again?
    time: {{at: {{on: cri.call StartContainer, nth: 2}}, since: note text~ended}}
    waits: [relist]
    wrong:
      - {{answer: 10s, hint: The first restart does not wait.}}
    hint: A back-off is set by a restart. Was there one before?
    rule: With restartPolicy Always a container is started again, regardless of its exit code.
  - id: code
    ask: Which state does the API server show first when the container has ended?
    value: {{at: api.write summary.containers.main.state=terminated*, field: summary.containers.main.state}}
    choices: [terminated/0/Completed, terminated/0/Error, waiting/CrashLoopBackOff]
    wrong:
      - {{answer: terminated/0/Error, hint: The reason Error is for exit codes other than 0.}}
    hint: Read the status that is written after the container ended.
    rule: The reason of exit code 0 is Completed.
  - id: died
    ask: Does the PLEG report ContainerDied also for a container that ended with exit code 0?
    happens: pleg.event ContainerDied
    wrong:
      - {{answer: "no", hint: The PLEG does not know exit codes. It compares two listings.}}
    hint: Step to the records of kind pleg.event.
    rule: The PLEG only sees that the container does not run any more.

inside:
  - at: pleg.event ContainerDied
    say: The PLEG compares two listings of the runtime.
  - at: actions decision.start=main t>1s
    say: compute_pod_actions decides that the container is started again.
"""
_TEXT = """\
# {title}

Common belief: "A container that ends with exit code 0 is not restarted."

## What to know

A pod's `restartPolicy` is `Always` unless the pod sets another one.

## Picture

    start      end                     start
      |---------|.......................|--->
        2s        how long is this?

## What you will do

Predict when the container is started again, then see.
"""
_SCENARIO = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: {name}}}
spec:
  duration: 20s
  images: [{{name: "*", present: true}}]
---
apiVersion: v1
kind: Pod
metadata: {{name: short}}
spec:
  containers:
    - {{name: main, image: "busybox:1.36", command: [sh, -c, sleep 2]}}
"""
_SOLUTION = """\
answers:
  second-start: 1s
  code: terminated/0/Completed
  died: "yes"
"""


def new_lab(directory: Path, name: str) -> Path:
    """Write the folder and return its path. Raises UsageError if it exists or the name is not allowed."""
    if not re.fullmatch(r"(\d{2}-)?[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} is no name for a lab; use lower-case letters, digits and dashes: slow-start")
    if not re.match(r"\d{2}-", name):
        taken = [int(folder.name[:2]) for folder in directory.glob("[0-9][0-9]-*")] if directory.is_dir() else []
        name = f"{max(taken, default=0) + 1:02}-{name}"
    folder = directory / name
    if folder.exists():
        raise UsageError(f"{folder}: exists already")
    title = name[3:].replace("-", " ").capitalize()
    for file, text in (
        ("lab.yaml", _LAB),
        ("text.md", _TEXT),
        ("scenario.yaml", _SCENARIO),
        ("solution.yaml", _SOLUTION),
    ):
        write_file(folder / file, text.format(title=title, name=name[3:]) if file != "solution.yaml" else text)
    return folder

"""A new lab to start from: `kubesim lab new NAME` writes one that is valid, for a teacher to change."""

from __future__ import annotations

import re
from pathlib import Path

from kubesim.errors import UsageError
from kubesim.labs.progress import write_file

_LAB = """\
# What is asked, and where in the trace of the run the answer is found. `kubesim lab validate` checks it.
title: {title}
about: a container that ends and is started again
belief: A container that ends with exit code 0 is left alone.

questions:
  - id: second-start
    predict: true
    ask: The container ends with exit code 0 after two seconds. How long until it is started again?
    time: {{at: {{on: cri.call StartContainer, nth: 2}}, since: note text~ended}}
    within: 1500ms
    wrong:
      - {{answer: 10s, hint: The first restart does not wait.}}
    hint: Which container runs before this one, and when did it end?
    rule: With restartPolicy Always a container is started again whatever its exit code is.
  - id: code
    ask: Which state does the API server show first when the container has ended?
    value: {{at: api.write summary.containers.main.state=terminated*, field: summary.containers.main.state}}
    choices: [terminated/0/Completed, terminated/0/Error, waiting/CrashLoopBackOff]
    wrong:
      - {{answer: terminated/0/Error, hint: Error is said of exit codes other than 0.}}
    hint: Look at the status that is written after the container ended.
    rule: The reason of exit code 0 is Completed.
  - id: died
    ask: Does the PLEG tell a container that ended well as ContainerDied, too?
    happens: pleg.event ContainerDied
    wrong:
      - {{answer: "no", hint: The PLEG does not know exit codes. It compares two listings.}}
    hint: Step to the records of kind pleg.event.
    rule: The PLEG only sees that a container that ran does not run any more.

inside:
  - at: pleg.event ContainerDied
    say: The PLEG compares two listings of the runtime.
  - at: actions decision.start=main t>1s
    say: compute_pod_actions decides that the container is started again.
"""
_TEXT = """\
# {title}

Common belief: "A container that ends with exit code 0 is left alone."

## What to know

A pod's `restartPolicy` is `Always` unless it says otherwise.

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
    """Writes the folder and answers it. Raises UsageError if it is there already or the name is no name."""
    if not re.fullmatch(r"(\d{2}-)?[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UsageError(f"{name!r} is no name for a lab; use small letters, digits and dashes: slow-start")
    if not re.match(r"\d{2}-", name):
        taken = [int(folder.name[:2]) for folder in directory.glob("[0-9][0-9]-*")] if directory.is_dir() else []
        name = f"{max(taken, default=0) + 1:02}-{name}"
    folder = directory / name
    if folder.exists():
        raise UsageError(f"{folder}: is there already")
    title = name[3:].replace("-", " ").capitalize()
    for file, text in (
        ("lab.yaml", _LAB),
        ("text.md", _TEXT),
        ("scenario.yaml", _SCENARIO),
        ("solution.yaml", _SOLUTION),
    ):
        write_file(folder / file, text.format(title=title, name=name[3:]) if file != "solution.yaml" else text)
    return folder

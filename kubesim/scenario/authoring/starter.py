"""The file that `kubesim scenario new` writes: a small scenario to edit, with a comment for each part."""

from __future__ import annotations

import re

from kubesim.errors import UsageError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_TEXT = """\
# What this scenario is about, in one line.
#
# Look at: what a reader should see in the timeline, and why it happens.
#
#   kubesim run {file}              runs it and prints what happens
#   kubesim test {file}             runs it as a test
#   kubesim scenario validate {file}
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata:
  name: {name}
spec:
  # When the run ends. Without it: when everything is idle.
  duration: 1m
  # Images that are on the node already; others are pulled first.
  images:
    - {{name: "busybox:*", present: true}}
  # What happens from outside, and when.
  steps:
    - {{at: 20s, exec: {{pod: {name}, command: [rm, /tmp/ready]}}}}
    - {{at: 40s, delete: {{pod: {name}}}}}
  # What must become true, or must never be true.
  expect:
    - {{pod: {name}, condition: Ready, by: 10s}}
    - {{pod: {name}, condition: Ready=False, by: 30s}}
    - {{pod: {name}, event: BackOff, never: true}}
    - {{pod: {name}, gone: true, by: 55s}}
---
# Objects of this file are applied at time 0. Containers run their command in a small shell, in virtual time.
apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  terminationGracePeriodSeconds: 5
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, "trap 'exit 0' TERM; touch /tmp/ready; sleep 100000 & wait"]
      readinessProbe:
        exec: {{command: [cat, /tmp/ready]}}
        periodSeconds: 2
        failureThreshold: 1
"""


def starter(name: str, file: str) -> str:
    """The text of a scenario with this name, for a file of that name. Raises UsageError."""
    if not _NAME.fullmatch(name) or len(name) > 63:
        raise UsageError(f"{name!r} cannot be the name of a scenario: use small letters, digits, dashes and dots")
    return _TEXT.format(name=name, file=file)

"""Known bugs of real kubelets are found from invariants alone, in the version that has them: nothing is expected of the
scenarios, and their files have no faults."""

from __future__ import annotations

from functools import cache

import pytest

from kubesim.explore.choice import EFFECTS
from kubesim.explore.search.exploration import ExploreResult
from kubesim.explore.subject import ExploreSubject
from kubesim.scenario.language.document import NAMES
from kubesim.values import replace
from tests.support.searches import found, search, shipped, subject_of

pytestmark = pytest.mark.violates_invariants

TWO_INIT_CONTAINERS = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
    - {name: setup, image: busybox, command: [sleep, "2"]}
    - {name: migrate, image: busybox, command: [sleep, "3"]}
  containers: [{name: main, image: nginx}]
"""
HOOK = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: nginx, lifecycle: {postStart: {exec: {command: ["true"]}}}}]
"""
ONCE = """
apiVersion: v1
kind: Pod
metadata: {name: once}
spec:
  restartPolicy: Never
  containers: [{name: main, image: busybox, command: [sleep, "5"]}]
"""
PROBED = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: nginx, readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 20}}]
"""
LABEL = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: label}
spec:
  duration: 1m
  nodes: [{name: node-1, labels: {disk: ssd}}]
  steps: [{at: 20s, patch: {object: Node/node-1, patch: {metadata: {labels: {disk: null}}}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: report}
spec:
  restartPolicy: Never
  nodeSelector: {disk: ssd}
  containers: [{name: main, image: busybox, command: [sleep, "3"]}]
"""
CRASHES = ("reboot", "crash-kubelet")

# The text or the bundled scenario, the version that has the bug, the runs, the effects, and what is found.
KNOWN = [
    ("#137710", TWO_INIT_CONTAINERS, "v1.36", 200, tuple(EFFECTS), "invariant init-order"),
    ("#36485", "init-containers", "v1.6", 40, CRASHES, "invariant init-order"),
    ("#122803", HOOK, "v1.36", 16, CRASHES, "invariant post-start"),
    ("#103643", "incidents/config-error-pulls", "v1.36", 1, CRASHES, "invariant pull-back-off"),
    ("#100277", "probes", "v1.30", 8, CRASHES, "invariant readiness"),
    ("#126542", "incidents/static-pod-memory", "v1.36", 1, CRASHES, "invariant event-rate"),
    ("#140882", "versions/v1.37-terminating-readiness", "v1.36", 1, CRASHES, "invariant probe-periods"),
    ("#115819", "memory-pressure", "v1.30", 1, CRASHES, "invariant evictions"),
    ("#126033", "versions/v1.30-refused-resize", "v1.30", 1, CRASHES, "invariant allocations"),
    ("admits finished pods", LABEL, "v1.30", 24, CRASHES, "invariant terminal-phase"),
    ("never started", ONCE, "v1.36", 40, ("reboot",), "no convergence"),
    ("ready too early", PROBED, "v1.36", 8, ("crash-kubelet",), "invariant readiness"),
    ("half an allocation", "nodes/gpu-numa", "v1.36", 16, ("crash-kubelet",), "no convergence"),
]
FIXED = [
    ("#137710", TWO_INIT_CONTAINERS, "v1.37", 100, ("reboot",), "invariant init-order"),
    ("#36485", "init-containers", "v1.37", 40, CRASHES, "invariant init-order"),
    ("#140882", "versions/v1.37-terminating-readiness", "v1.37", 1, CRASHES, "invariant probe-periods"),
    ("#115819", "memory-pressure", "v1.36", 1, CRASHES, "invariant evictions"),
    ("#126033", "versions/v1.30-refused-resize", "v1.36", 1, CRASHES, "invariant allocations"),
    ("admits finished pods", LABEL, "v1.36", 24, CRASHES, "invariant terminal-phase"),
]


def subject(given: str, profile: str) -> ExploreSubject:
    settings = {"profile": profile, "checked": (*NAMES, "convergence")}
    made = shipped(given, **settings) if "\n" not in given else subject_of(given, **settings)
    return replace(made, profile=profile)


@cache
def searched(given: str, profile: str, runs: int, effects: tuple[str, ...]) -> ExploreResult:
    return search(subject(given, profile), runs, effects)


@pytest.mark.parametrize(
    ("given", "profile", "runs", "effects", "rule"), [row[1:] for row in KNOWN], ids=[row[0] for row in KNOWN]
)
def test_it_is_found_and_shrunk_to_at_most_one_fault(
    given: str, profile: str, runs: int, effects: tuple[str, ...], rule: str
) -> None:
    result = searched(given, profile, runs, effects)
    findings = found(result, rule)
    assert findings, [finding.title for finding in result.findings]
    assert len(findings[0].choices) <= 1
    assert result.runs <= runs


@pytest.mark.parametrize(
    ("given", "profile", "runs", "effects", "rule"), [row[1:] for row in FIXED], ids=[row[0] for row in FIXED]
)
def test_it_is_not_found_in_a_version_without_the_bug(
    given: str, profile: str, runs: int, effects: tuple[str, ...], rule: str
) -> None:
    assert not found(searched(given, profile, runs, effects), rule)


def test_the_skipped_init_container_is_reduced_to_one_reboot_and_one_init_container() -> None:
    [finding] = found(searched(TWO_INIT_CONTAINERS, "v1.36", 200, tuple(EFFECTS)), "invariant init-order")
    assert finding.title == "invariant init-order: reboot after CreateContainer of web:main"
    [pod] = [each for each in finding.run.subject.documents() if each["kind"] == "Pod"]
    assert [init["name"] for init in pod["spec"]["initContainers"]] == ["migrate"]

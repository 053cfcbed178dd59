"""Random sequences of creating, changing, deleting and killing: a node keeps its invariants (see `DrivenNode`)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.runtime.kuberuntime.act.manager import RuntimeManager
from kubesim.runtime.kuberuntime.results import PodSyncResult
from kubesim.scenario.language.document import Scenario
from tests.support.driven_node import DrivenNode
from tests.support.soak import LONG, rounds

pytestmark = LONG

EXAMPLES, STEPS = 300, 30

SCENARIO = Scenario.model_validate(
    {
        "metadata": {"name": "anything"},
        "spec": {
            "images": [
                {"name": "busybox:1", "present": True},
                {"name": "busybox:2", "pullTime": "3s"},
                {"name": "absent:1", "missing": True},
            ],
        },
    }
)

PROMPT = "trap 'exit 0' TERM; sleep 100000 & wait"
DEAF = "trap '' TERM; sleep 100000"
COMMANDS = (PROMPT, DEAF, "sleep 5; exit 1", "sleep 3", "exit 0", "exit 7", "sleep 1; tail /dev/zero")
READY = {"exec": {"command": ["true"]}, "periodSeconds": 1}
SICK = {"exec": {"command": ["false"]}, "periodSeconds": 2, "failureThreshold": 2}

images = st.sampled_from(["busybox:1", "busybox:1", "busybox:2", "absent:1"])
probes = st.sampled_from([{}, {}, {"readinessProbe": READY}, {"livenessProbe": SICK}, {"startupProbe": SICK}])
hooks = st.sampled_from(
    [
        {},
        {},
        {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 2"]}}}},
        {"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "sleep 1; exit 1"]}}}},
    ]
)
numbers = st.integers(0, 2)
moments = st.sampled_from([0, 1 * MILLISECOND, 70 * MILLISECOND, 300 * MILLISECOND, 1 * SECOND, 3 * SECOND, 8 * SECOND])
NAMES = ("ann", "bob", "cat")


@st.composite
def containers(draw: st.DrawFn, name: str) -> dict[str, Any]:
    command = ["sh", "-c", draw(st.sampled_from(COMMANDS))]
    return {"name": name, "image": draw(images), "command": command, **draw(probes), **draw(hooks)}


@st.composite
def init_containers(draw: st.DrawFn) -> list[dict[str, Any]]:
    made = []
    for number in range(draw(st.integers(0, 2))):
        container = {"name": f"init{number}", "image": "busybox:1"}
        if draw(st.booleans()):
            command = draw(st.sampled_from([PROMPT, DEAF, "sleep 4"]))
            made.append({**container, "command": ["sh", "-c", command], "restartPolicy": "Always", **draw(probes)})
        else:
            made.append({**container, "command": ["sh", "-c", draw(st.sampled_from(["true", "sleep 2", "exit 1"]))]})
    return made


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """The spec of a pod."""
    spec: dict[str, Any] = {
        "restartPolicy": draw(st.sampled_from(["Always", "OnFailure", "Never"])),
        "terminationGracePeriodSeconds": draw(st.sampled_from([0, 1, 5, 30])),
        "containers": [draw(containers(f"main{number}")) for number in range(draw(st.integers(1, 2)))],
        "initContainers": draw(init_containers()),
    }
    if draw(st.integers(0, 4)) == 0:
        spec["activeDeadlineSeconds"] = draw(st.integers(1, 30))
    return spec


class AnyStory(RuleBasedStateMachine):
    """Any action on an existing pod, followed by a pause."""

    node: DrivenNode | None = None

    @initialize(seed=st.integers(0, 1000), every_tick=st.booleans())
    def begin(self, seed: int, every_tick: bool) -> None:
        self.node = DrivenNode(SCENARIO, seed, every_tick=every_tick)

    @property
    def _node(self) -> DrivenNode:
        assert self.node is not None
        return self.node

    def _has_pods(self) -> bool:
        return self.node is not None and bool(self.node.pods())

    def _has_room(self) -> bool:
        return self.node is not None and len(self.node.pods()) < len(NAMES)

    def _pod(self, number: int) -> str:
        """An existing pod."""
        pods = self._node.pods()
        return pods[number % len(pods)].metadata.name

    @precondition(_has_room)
    @rule(spec=pods(), then=moments)
    def create(self, spec: dict[str, Any], then: int) -> None:
        taken = {pod.metadata.name for pod in self._node.pods()}
        name = next(name for name in NAMES if name not in taken)
        self._node.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        self._node.wait(then)

    @precondition(_has_pods)
    @rule(pod=numbers, container=st.integers(0, 1), image=images, then=moments)
    def change_image(self, pod: int, container: int, image: str, then: int) -> None:
        self._node.patch(self._pod(pod), {"spec": {"containers": [{"name": f"main{container}", "image": image}]}})
        self._node.wait(then)

    @precondition(_has_pods)
    @rule(pod=numbers, value=st.sampled_from(["red", "blue"]), then=moments)
    def change_labels(self, pod: int, value: str, then: int) -> None:
        self._node.patch(self._pod(pod), {"metadata": {"labels": {"colour": value}}})
        self._node.wait(then)

    @precondition(_has_pods)
    @rule(pod=numbers, seconds=st.integers(1, 40), then=moments)
    def change_deadline(self, pod: int, seconds: int, then: int) -> None:
        self._node.patch(self._pod(pod), {"spec": {"activeDeadlineSeconds": seconds}})
        self._node.wait(then)

    @precondition(_has_pods)
    @rule(pod=numbers, grace_s=st.sampled_from([None, None, 0, 1, 10, 60]), then=moments)
    def delete(self, pod: int, grace_s: int | None, then: int) -> None:
        self._node.delete(self._pod(pod), grace_s)
        self._node.wait(then)

    @precondition(_has_pods)
    @rule(pod=numbers, container=numbers, signal=st.sampled_from(["KILL", "TERM"]), then=moments)
    def kill_container(self, pod: int, container: int, signal: str, then: int) -> None:
        self._node.kill_some_container(self._pod(pod), container, signal)
        self._node.wait(then)

    @precondition(_has_pods)
    @rule(pod=numbers, then=moments)
    def kill_sandbox(self, pod: int, then: int) -> None:
        self._node.kill(self._pod(pod), sandbox=True)
        self._node.wait(then)

    @rule(then=st.sampled_from([10, 40, 200]))
    def wait(self, then: int) -> None:
        self._node.wait(then * SECOND)

    @invariant()
    def promises_are_kept(self) -> None:
        if self.node is not None:
            self.node.check()

    def teardown(self) -> None:
        if self.node is None:
            return
        try:
            if not self.node.failed:
                self.node.close()
        finally:
            self.node.shut()


AnyStory.TestCase.settings = settings(max_examples=rounds(EXAMPLES), stateful_step_count=STEPS, print_blob=True)
test_a_node_keeps_its_promises = AnyStory.TestCase


@pytest.mark.parametrize(
    ("grace_s", "complaint"), [(None, "was deleted and is still there"), (0, "is gone still runs")]
)
def test_a_violated_invariant_is_detected(grace_s: int | None, complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a kubelet that does not stop containers the checks fail."""

    async def stops_nothing(*_: object) -> PodSyncResult:
        return PodSyncResult()

    monkeypatch.setattr(RuntimeManager, "kill_pod", stops_nothing)
    node = DrivenNode(SCENARIO, 1)
    container = {"name": "main0", "image": "busybox:1", "command": ["sh", "-c", PROMPT]}
    node.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ann"}, "spec": {"containers": [container]}})
    node.wait(5 * SECOND)
    node.check()
    node.delete("ann", grace_s)
    node.wait(200 * SECOND)
    with pytest.raises(AssertionError, match=complaint):
        node.check()
    node.shut()

"""Whatever is created, changed, deleted and killed, in whatever order: a node keeps its promises (see `DrivenNode`)."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.scenario.language import Scenario
from tests.driven_node import DrivenNode
from tests.soak import rounds

EXAMPLES, STEPS = 400, 30

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
names = st.sampled_from(["ann", "bob", "cat"])


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
    node: DrivenNode | None = None

    @initialize(seed=st.integers(0, 1000), every_tick=st.booleans())
    def begin(self, seed: int, every_tick: bool) -> None:
        self.node = DrivenNode(SCENARIO, seed, every_tick=every_tick)

    @property
    def _node(self) -> DrivenNode:
        assert self.node is not None
        return self.node

    @rule(name=names, spec=pods())
    def create(self, name: str, spec: dict[str, Any]) -> None:
        """Of a name that exists, the API server refuses what may not change."""
        self._node.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})

    @rule(name=names, number=st.integers(0, 1), image=images)
    def change_image(self, name: str, number: int, image: str) -> None:
        self._node.patch(name, {"spec": {"containers": [{"name": f"main{number}", "image": image}]}})

    @rule(name=names, value=st.sampled_from(["red", "blue"]))
    def change_labels(self, name: str, value: str) -> None:
        self._node.patch(name, {"metadata": {"labels": {"colour": value}}})

    @rule(name=names, seconds=st.integers(1, 40))
    def change_deadline(self, name: str, seconds: int) -> None:
        self._node.patch(name, {"spec": {"activeDeadlineSeconds": seconds}})

    @rule(name=names, grace_s=st.sampled_from([None, None, 0, 1, 10, 60]))
    def delete(self, name: str, grace_s: int | None) -> None:
        self._node.delete(name, grace_s)

    @rule(name=names, container=st.sampled_from(["main0", "main1", "init0"]), signal=st.sampled_from(["KILL", "TERM"]))
    def kill_container(self, name: str, container: str, signal: str) -> None:
        self._node.kill(name, container=container, signal=signal)

    @rule(name=names)
    def kill_sandbox(self, name: str) -> None:
        self._node.kill(name, sandbox=True)

    @rule(milliseconds=st.one_of(st.integers(1, 3000), st.sampled_from([10_000, 40_000, 200_000])))
    def wait(self, milliseconds: int) -> None:
        self._node.wait(milliseconds * MILLISECOND)

    @invariant()
    def promises_are_kept(self) -> None:
        if self.node is not None:
            self.node.check()

    def teardown(self) -> None:
        if self.node is None:
            return
        try:
            self.node.close()
        finally:
            self.node.shut()


AnyStory.TestCase.settings = settings(max_examples=rounds(EXAMPLES), stateful_step_count=STEPS, print_blob=True)
test_a_node_keeps_its_promises = AnyStory.TestCase


def test_a_broken_promise_is_noticed() -> None:
    """The checks are no ornament: a container that outlives its pod is found."""
    node = DrivenNode(SCENARIO, 1)
    try:
        container = {"name": "main0", "image": "busybox:1", "command": ["sh", "-c", PROMPT]}
        node.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ann"}, "spec": {"containers": [container]}})
        node.wait(5 * SECOND)
        assert [info.state for info in node.containers()] == ["running"]
        node.check()
    finally:
        node.shut()

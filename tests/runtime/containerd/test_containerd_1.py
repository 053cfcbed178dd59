"""RunPodSandbox in the order of containerd 1.7, with parts that record their calls."""

from __future__ import annotations

import asyncio

import pytest

from kubesim.runtime.containerd.containerd_1 import FirstSandboxAttempt
from kubesim.runtime.containerd.sandbox import PodSandbox, PodSandboxService, SandboxFailed, SandboxObserver
from kubesim.runtime.protocol import IdMapping, UserNamespace
from kubesim.runtime.simulated.cri.sandbox_steps import StepName
from kubesim.runtime.simulated.cri.sandbox_walk import SandboxStepFailed
from tests.support.fakes.sandbox import Diary, FakeParts, request

NETWORK = ["make namespace", "store again", "set up network", "store again"]
ORDER = ["ensure image", "store metadata", *NETWORK, "create sandbox", "start sandbox"]
MAPPING = (IdMapping(0, 100_000, 65_536),)
USERS = UserNamespace(MAPPING, MAPPING)


class FailingStep(SandboxObserver):
    def __init__(self, step: StepName, left_behind: str = "") -> None:
        self._step, self._left_behind = step, left_behind

    def at(self, sandbox: PodSandbox, step: StepName) -> None:
        if step == self._step:
            raise SandboxStepFailed("refused", self._left_behind)


class World:
    def __init__(self, observer: SandboxObserver | None = None, **failing: str) -> None:
        self.diary = Diary({step.replace("_", " "): error for step, error in failing.items()})
        parts = FakeParts(self.diary).parts()
        parts.observer = observer or SandboxObserver()
        self.service = PodSandboxService(parts, FirstSandboxAttempt)

    def run(self, user_namespace: UserNamespace | None = None, *, host_network: bool = False) -> SandboxFailed | None:
        given = request(user_namespace=user_namespace, host_network=host_network)
        try:
            asyncio.run(self.service.run(given))
        except SandboxFailed as error:
            return error
        return None


def test_the_pause_container_is_created_before_the_network() -> None:
    world = World()
    assert world.run() is None
    assert world.diary.entries == ORDER
    assert world.service.sandboxes["s1"].state == "READY"


def test_with_a_user_namespace_the_network_is_set_up_after_the_task() -> None:
    world = World()
    world.run(USERS)
    network = ["make namespace in user namespace", *NETWORK[1:]]
    assert world.diary.entries == ["ensure image", "store metadata", "create sandbox", *network, "start sandbox"]


def test_a_pod_on_the_hosts_network_has_no_namespace() -> None:
    world = World()
    world.run(USERS, host_network=True)
    assert world.diary.entries == ["ensure image", "store metadata", "create sandbox", "start sandbox"]


@pytest.mark.parametrize(
    ("users", "step", "text", "undone"),
    [
        (None, "ensure_image", 'failed to get sandbox image "pause:3.8": oops', []),
        (None, "store_metadata", "failed to create containerd container: oops", []),
        (
            None,
            "set_up_network",
            'failed to setup network for sandbox "s1": oops',
            ["tear down network", "remove namespace", "delete metadata"],
        ),
        (
            None,
            "create_sandbox",
            "failed to create containerd task: oops",
            ["tear down network", "remove namespace", "delete metadata"],
        ),
        (USERS, "create_sandbox", "failed to create containerd task: oops", ["delete metadata"]),
        (
            None,
            "start_sandbox",
            'failed to start sandbox container task "s1": oops',
            ["shut down sandbox", "tear down network", "remove namespace", "delete metadata"],
        ),
        (
            USERS,
            "start_sandbox",
            'failed to start sandbox container task "s1": oops',
            ["tear down network", "remove namespace", "shut down sandbox", "delete metadata"],
        ),
    ],
)
def test_steps_reverted_after_a_failure(users: UserNamespace | None, step: str, text: str, undone: list[str]) -> None:
    world = World(None, **{step: "oops"})
    failed = world.run(users)
    assert failed is not None
    assert (str(failed), failed.kept) == (text, None)
    assert world.diary.entries[world.diary.entries.index(step.replace("_", " ")) + 1 :] == undone
    assert world.run(users) is not None  # the name is free: it fails as before
    assert world.service.sandboxes == {}


def test_a_failed_tear_down_counts_even_if_the_network_was_never_set_up() -> None:
    world = World(set_up_network="no address", tear_down_network="no idea")
    failed = world.run()
    assert failed is not None
    assert failed.kept is world.service.sandboxes["s1"]
    assert world.diary.entries[-1] == "tear down network"


@pytest.mark.parametrize(("users", "has_network"), [(None, True), (USERS, False)])
def test_a_task_that_cannot_be_deleted_keeps_the_sandbox_with_later_resources(
    users: UserNamespace | None, has_network: bool
) -> None:
    world = World(FailingStep("start", "busy"))
    failed = world.run(users)
    assert failed is not None
    assert str(failed) == 'failed to start sandbox container task "s1": refused'
    assert failed.kept is not None
    assert ("tear down network" not in world.diary.entries) == has_network
    assert "delete metadata" not in world.diary.entries

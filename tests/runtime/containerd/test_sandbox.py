"""RunPodSandbox in containerd's order, and the steps reverted if one fails."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from kubesim.errors import RuntimeCallError
from kubesim.runtime.containerd.containerd_1 import FirstSandboxAttempt
from kubesim.runtime.containerd.sandbox import PodSandboxService, SandboxAttempt, SandboxFailed, SandboxRequest
from kubesim.runtime.containerd.sandbox_rules import makes_dirty
from kubesim.runtime.protocol import IdMapping, UserNamespace
from tests.support.fakes.sandbox import Diary, FakeParts, request

ORDER = [
    "create lease",
    "store metadata",
    "make namespace",
    "store again",
    "set up network",
    "store again",
    "create sandbox",
    "ensure image",
    "start sandbox",
    "store again",
]
NAMES = "web_default_uid_0"


class World:
    def __init__(self, left_behind: str = "", **failing: str) -> None:
        self.diary = Diary({step.replace("_", " "): error for step, error in failing.items()})
        self.fakes = FakeParts(self.diary, left_behind)
        self.service = PodSandboxService(self.fakes.parts())

    def run(self, given: SandboxRequest | None = None) -> SandboxFailed | None:
        try:
            asyncio.run(self.service.run(given or request()))
        except SandboxFailed as error:
            return error
        return None

    def undone(self) -> list[str]:
        """The steps after the failed one."""
        failed = next(n for n, step in enumerate(self.diary.entries) if step in self.diary.failing)
        return self.diary.entries[failed + 1 :]

    @property
    def name_is_free(self) -> bool:
        return NAMES not in self.service._names


def test_the_order_of_the_steps() -> None:
    world = World()
    assert world.run() is None
    assert world.diary.entries == ORDER
    sandbox = world.service.sandboxes["s1"]
    assert (sandbox.state, sandbox.netns_path in world.fakes.namespaces) == ("READY", True)


def test_a_pod_on_the_hosts_network_has_no_namespace() -> None:
    world = World()
    world.run(request(host_network=True))
    assert world.diary.entries == [
        "create lease", "store metadata", "create sandbox", "ensure image", "start sandbox", "store again",
    ]  # fmt: skip


def test_with_a_user_namespace_the_network_namespace_is_created_within_it() -> None:
    world = World()
    mapping = (IdMapping(0, 100_000, 65_536),)
    world.run(request(user_namespace=UserNamespace(mapping, mapping)))
    expected = [step + " in user namespace" if step == "make namespace" else step for step in ORDER]
    expected.insert(expected.index("start sandbox"), "pin user namespace")
    assert world.diary.entries == expected


def test_on_the_hosts_network_the_sandbox_creates_its_user_namespace_itself() -> None:
    world = World()
    mapping = (IdMapping(0, 100_000, 65_536),)
    world.run(request(user_namespace=UserNamespace(mapping, mapping), host_network=True))
    assert world.diary.entries == [
        "create lease", "store metadata", "create sandbox", "ensure image", "start sandbox", "store again",
    ]  # fmt: skip


def test_a_user_namespace_that_cannot_be_pinned_is_reverted_with_the_rest() -> None:
    world = World(pin_user_namespace="oops")
    mapping = (IdMapping(0, 100_000, 65_536),)
    failed = world.run(request(user_namespace=UserNamespace(mapping, mapping)))
    assert str(failed) == (
        'failed to start sandbox "s1": failed to generate sandbox container spec: failed to pin user namespace: oops'
    )
    assert world.diary.entries[-4:] == ["tear down network", "remove namespace", "delete metadata", "delete lease"]


def test_a_user_namespace_needs_exactly_one_mapping() -> None:
    world = World()
    mapping = (IdMapping(0, 1, 1),)
    failed = world.run(request(user_namespace=UserNamespace(mapping, mapping, "NODE")))
    assert str(failed).endswith("required pod-level user namespace setting")
    world = World()
    failed = world.run(request(user_namespace=UserNamespace((), (IdMapping(0, 1, 1),))))
    assert str(failed) == (
        'failed to create network namespace for sandbox "s1": required only one uid mapping, but got 0 uid mapping(s)'
    )
    assert world.diary.entries == ["create lease", "store metadata", "delete metadata", "delete lease"]


UNDOING = {
    "create_lease": ('failed to create lease for sandbox name "web_default_uid_0": oops', []),
    "store_metadata": ("failed to save sandbox metadata: oops", ["delete lease"]),
    "make_namespace": (
        'failed to create network namespace for sandbox "s1": oops',
        ["delete metadata", "delete lease"],
    ),
    "set_up_network": (
        'failed to setup network for sandbox "s1": oops',
        ["tear down network", "remove namespace", "delete metadata", "delete lease"],
    ),
    "create_sandbox": (
        'failed to create sandbox "s1": oops',
        ["tear down network", "remove namespace", "delete metadata", "delete lease"],
    ),
    "ensure_image": ("oops", ["tear down network", "remove namespace", "delete metadata", "delete lease"]),
    "start_sandbox": (
        'failed to start sandbox "s1": oops',
        ["tear down network", "remove namespace", "delete metadata", "delete lease"],
    ),
}


@pytest.mark.parametrize("step", UNDOING)
def test_steps_reverted_after_a_failure(step: str) -> None:
    world = World(**{step: "oops"})
    text, undone = UNDOING[step]
    failed = world.run()
    assert failed is not None
    assert (str(failed), failed.kept) == (text, None)
    assert world.undone() == undone
    assert world.fakes.namespaces == set()
    assert world.service.sandboxes == {}
    assert world.name_is_free


def test_a_started_sandbox_is_shut_down_if_it_cannot_be_stored() -> None:
    world = World()
    stores = 0
    note = world.diary.note

    def fail_the_third_time(step: str, error: type[Exception] = RuntimeCallError) -> None:
        nonlocal stores
        note(step, error)
        stores += step == "store again"
        if stores == 3:
            stores = 0
            raise RuntimeCallError("disk full")

    world.diary.note = fail_the_third_time  # type: ignore[method-assign]
    failed = world.run()
    assert str(failed) == 'unable to save sandbox "s1" to sandbox store: disk full'
    assert world.diary.entries[len(ORDER) :] == [
        "shut down sandbox", "tear down network", "remove namespace", "delete metadata", "delete lease",
    ]  # fmt: skip


def test_a_failed_tear_down_is_ignored_if_the_network_was_never_set_up() -> None:
    world = World(set_up_network="no address", tear_down_network="no idea")
    failed = world.run()
    assert failed is not None
    assert failed.kept is None
    assert world.undone() == ["tear down network", "remove namespace", "delete metadata", "delete lease"]
    assert world.name_is_free


@pytest.mark.parametrize("cannot", ["tear_down_network", "remove_namespace"])
def test_a_step_that_cannot_be_reverted_leaves_an_unknown_sandbox(cannot: str) -> None:
    world = World(**{"start_sandbox": "oops", cannot: "busy"})
    failed = world.run()
    assert failed is not None
    assert failed.kept is world.service.sandboxes["s1"]
    assert failed.kept.state == "UNKNOWN"
    assert failed.kept.netns_path in world.fakes.namespaces
    assert "delete metadata" not in world.diary.entries
    assert world.fakes.stored
    assert not world.name_is_free
    conflict = world.run(request(id="s2"))
    assert str(conflict) == (
        'failed to reserve sandbox name "web_default_uid_0": name "web_default_uid_0" is reserved for "s1"'
    )


def test_a_start_that_leaves_resources_ends_the_clean_up() -> None:
    world = World(left_behind="task", start_sandbox="oops")
    failed = world.run()
    assert failed is not None
    assert failed.kept is not None
    assert world.undone() == ["delete lease"]


def test_an_unknown_sandbox_is_stopped_and_removed_like_any_other() -> None:
    world = World(start_sandbox="oops", tear_down_network="busy")
    world.run()
    with pytest.raises(RuntimeCallError, match='failed to destroy network for sandbox "s1": busy'):
        asyncio.run(world.service.stop("s1"))
    world.diary.failing.clear()
    asyncio.run(world.service.remove("s1"))
    assert world.service.sandboxes == {}
    assert world.fakes.stored == {}
    assert world.fakes.namespaces == set()
    assert world.name_is_free
    assert world.run() is None


def test_stopping_and_removing_can_be_repeated() -> None:
    world = World()
    world.run()
    for _ in range(2):
        asyncio.run(world.service.stop("s1"))
    stopping = world.diary.entries[len(ORDER) :]
    assert stopping == [
        "stop containers", "stop sandbox", "tear down network", "remove namespace",
        "stop containers", "tear down network without a namespace", "remove namespace",
    ]  # fmt: skip
    for _ in range(2):
        asyncio.run(world.service.remove("s1"))
    asyncio.run(world.service.stop("s1"))
    assert world.service.sandboxes == {}


def test_a_sandbox_whose_namespace_exists_is_not_removed() -> None:
    world = World()
    world.run()
    path = world.service.sandboxes["s1"].netns_path
    world.fakes.namespaces_stick = True
    with pytest.raises(RuntimeCallError, match=f'sandbox network namespace "{path}" is not fully closed'):
        asyncio.run(world.service.remove("s1"))
    assert "s1" in world.service.sandboxes


@pytest.mark.parametrize(("runs", "state"), [(True, "READY"), (False, "NOTREADY")])
def test_after_a_restart_sandboxes_have_their_state_and_name(runs: bool, state: str) -> None:
    world = World()
    world.run()
    again = PodSandboxService(world.fakes.parts())
    again.recover({"s1": runs})
    assert again.sandboxes["s1"].state == state
    with pytest.raises(SandboxFailed, match="is reserved for"):
        asyncio.run(again.run(request(id="s2")))
    asyncio.run(again.run(request(attempt=1, id="s3")))


@pytest.mark.parametrize(("order", "is_taken"), [(SandboxAttempt, False), (FirstSandboxAttempt, True)])
def test_after_a_restart_the_name_of_a_sandbox_without_a_container_is_free(
    order: type[SandboxAttempt], is_taken: bool
) -> None:
    """containerd 1.7 creates the container before the network, so a crash in ADD there leaves the name reserved."""
    world = World()
    world.run()
    again = PodSandboxService(world.fakes.parts(), order)
    again.recover({})
    assert again.sandboxes["s1"].state == "NOTREADY"
    refused = pytest.raises(SandboxFailed, match="is reserved for") if is_taken else nullcontext()
    with refused:
        asyncio.run(again.run(request(id="s2")))


def test_a_runtime_that_lost_its_memory_restores_nothing() -> None:
    world = World()
    world.run()
    world.service.forget()
    world.service.recover({})
    assert world.service.sandboxes == {}


def test_failures_that_end_the_clean_up() -> None:
    assert not makes_dirty("tear down network", has_network=False)
    assert makes_dirty("tear down network", has_network=True)
    assert makes_dirty("delete task", has_network=False)
    assert not makes_dirty("delete lease", has_network=True)
    assert not makes_dirty("clean up files", has_network=True)

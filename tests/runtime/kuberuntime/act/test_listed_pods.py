"""The pods of the last listing: changed ones are listed again, also after a failed listing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from kubesim.clock import run_virtual
from kubesim.errors import RuntimeCallError
from kubesim.runtime.kuberuntime.act.listed_pods import ListedPods
from kubesim.runtime.protocol import ContainerInfo, Runtime, SandboxInfo


class OneSandbox:
    """A runtime with one sandbox, whose list call may fail in various ways."""

    def __init__(self) -> None:
        self.ready = True
        self.problem: BaseException | None = None
        self.answers: asyncio.Future[None] | None = None  # a listing of containers waits for it
        self._changed: Callable[[str], None] = lambda uid: None

    def on_change(self, listener: Callable[[str], None]) -> None:
        self._changed = listener

    def dies(self) -> None:
        self.ready = False
        self._changed("u")

    async def list_pod_sandboxes(self, uid: str | None = None) -> list[SandboxInfo]:
        if self.problem is not None:
            raise self.problem
        return [SandboxInfo("a", "u", "p", "ns", 0, ready=self.ready, created_at=1)]

    async def list_containers(self, uid: str | None = None) -> list[ContainerInfo]:
        if self.answers is not None:
            await self.answers
        return []


@pytest.mark.parametrize("problem", [RuntimeCallError("no answer"), asyncio.CancelledError()])
@pytest.mark.parametrize("one", [False, True])
def test_a_change_survives_a_failed_or_cancelled_listing(problem: BaseException, one: bool) -> None:
    async def main() -> None:
        runtime = OneSandbox()
        listed = ListedPods(cast(Runtime, runtime))
        assert list(await listed.get_running()) == ["u"]
        runtime.dies()
        runtime.problem = problem
        call: Any = listed.get_one("u") if one else listed.get()
        with pytest.raises(type(problem)):
            await call
        runtime.problem = None
        assert list(await listed.get_running()) == []

    run_virtual(main)


def test_a_slow_listing_hides_no_change_from_others() -> None:
    """Housekeeping and the PLEG list at the same time; a call may take two minutes to fail or to return."""

    async def main() -> None:
        runtime = OneSandbox()
        listed = ListedPods(cast(Runtime, runtime))
        assert list(await listed.get_running()) == ["u"]
        answers = runtime.answers = asyncio.get_running_loop().create_future()
        early = asyncio.ensure_future(listed.get_running())
        await asyncio.sleep(0)
        runtime.dies()
        late = asyncio.ensure_future(listed.get_running())
        await asyncio.sleep(0)
        runtime.answers = None
        assert list(await listed.get_running()) == []
        answers.set_result(None)  # the early listing has read the state before the change
        assert (list(await early), list(await late)) == ([], [])
        assert list(await listed.get_running()) == []

    run_virtual(main)


def test_a_change_during_a_listing_is_in_the_next_one() -> None:
    async def main() -> None:
        runtime = OneSandbox()
        listed = ListedPods(cast(Runtime, runtime))
        answers = runtime.answers = asyncio.get_running_loop().create_future()
        slow = asyncio.ensure_future(listed.get_running())
        await asyncio.sleep(0)
        runtime.answers = None
        runtime.dies()
        answers.set_result(None)
        assert list(await slow) == ["u"]
        assert list(await listed.get_running()) == []

    run_virtual(main)

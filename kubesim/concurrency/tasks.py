"""Sets of tasks that end in the order they were started.

asyncio and anyio cancel a group in the order of memory addresses, which differs between runs. Here the order is fixed,
so that a shutdown leaves the same trace every time. An error in one task ends the whole set, and `run_until` raises it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from kubesim.clock import go


class TaskSet:
    """A set of tasks: `async with TaskSet() as tasks: tasks.start("pleg", pleg.run())`. Leaving the block ends the
    tasks in order.
    """

    def __init__(self, parent: TaskSet | None = None) -> None:
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._children: dict[TaskSet, None] = {}
        self._parent = parent
        self._failure: asyncio.Future[None] | None = None
        self._closing = False

    def child(self) -> TaskSet:
        """A nested set that can be ended separately; an error in the nested set ends both."""
        child = TaskSet(self)
        self._children[child] = None
        return child

    def start(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self._keep(asyncio.get_running_loop().create_task(coroutine, name=name))

    def go(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that runs next (see `clock.go`)."""
        return self._keep(go(coroutine, name))

    def _keep(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if self._closing:
            return
        del self._tasks[task]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """End the set with this error; the first one counts."""
        if self._parent is not None:
            self._parent.fail(error)
        elif self._failure is not None and not self._failure.done():
            self._failure.set_exception(error)

    def __len__(self) -> int:
        return len(self._tasks)

    async def kill(self, others: Iterable[asyncio.Task[Any]] = ()) -> None:
        """Cancel all tasks and these others immediately; none of them runs any further."""
        tasks = [*self._tasks, *others]
        self._closing = True
        for task in tasks:
            task.cancel()
        for task in tasks:
            await end(task)
        self._tasks.clear()
        if self._parent is not None:
            self._parent._children.pop(self, None)

    async def run_until(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run `main`; if a task of the set fails first, stop `main` and raise the error."""
        assert self._failure is not None, "use `async with`"
        inner = asyncio.get_running_loop().create_task(main, name="main")
        try:
            await asyncio.wait([inner, self._failure], return_when=asyncio.FIRST_COMPLETED)
            if self._failure.done():
                self._failure.result()
            return inner.result()
        finally:
            await end(inner)

    async def __aenter__(self) -> TaskSet:
        self._failure = asyncio.get_running_loop().create_future()
        return self

    async def __aexit__(self, *_: object) -> None:
        for child in list(self._children):
            await child.kill()
        self._closing = True
        for task in list(self._tasks):
            await end(task)
        self._tasks.clear()
        if self._failure is not None:
            if self._failure.done():
                # mark it as retrieved: run_until raised it, or a later error superseded it
                self._failure.exception()
            else:
                self._failure.cancel()


async def end(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it ends; its exceptions are ignored."""
    task.cancel()
    if not task.done():
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()

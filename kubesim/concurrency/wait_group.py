"""`WaitGroup`: runs several coroutines concurrently; the caller continues when the last has ended, before any other
task.

Mirrors: Go's sync.WaitGroup; the last `Done` makes the waiting goroutine ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from kubesim.clock import go, wake

T = TypeVar("T")


async def run_together(named: Iterable[tuple[str, Coroutine[Any, Any, T]]]) -> list[T]:
    """Run coroutines concurrently and return their results in the order of completion. An error is raised when all have
    ended.
    """
    all_done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    tasks: list[asyncio.Task[None]] = []
    results: list[T] = []
    left = 0

    async def run(coroutine: Coroutine[Any, Any, T]) -> None:
        nonlocal left
        try:
            results.append(await coroutine)
        finally:
            left -= 1
            if not left:
                wake(all_done, None)

    for name, coroutine in named:
        left += 1
        tasks.append(go(run(coroutine), name))
    try:
        if tasks:
            await all_done
        for task in tasks:
            await task
        return results
    finally:
        for task in tasks:
            task.cancel()

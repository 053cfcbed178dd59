"""A cluster served on loopback by its own thread, in real time, for blocking clients."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from kubesim.clock import LoopClock
from kubesim.cluster.registry.bootstrap import bootstrap
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store

PATIENCE = 30  # timeout in seconds for changes that should be immediate


class ServedCluster:
    """`call` runs a function on the store in the thread that owns it."""

    def __init__(self, tokens: Collection[str], tls: ssl.SSLContext | None, history_limit: int) -> None:
        self._tokens = tokens
        self._tls = tls
        self._history_limit = history_limit
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="cluster", daemon=True)

    async def _run(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        clock = LoopClock()
        uids = iter(range(1, 1_000_000))
        self.store = Store(
            clock.now, lambda: f"00000000-0000-4000-8000-{next(uids):012d}", history_limit=self._history_limit
        )
        bootstrap(self.store)
        for name in ("node-a", "node-b"):
            create(self.store, Target(RESOURCES["Node"]), {"metadata": {"name": name}})
        self.server = ClusterServer(self.store, clock, tokens=self._tokens, tls=self._tls)
        await self.server.start()
        self._ready.set()
        await self._stopped.wait()
        await self.server.close()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    @property
    def address(self) -> str:
        return self.server.address

    def call(self, act: Callable[..., Any], *args: Any) -> Any:
        async def run() -> Any:
            return act(*args)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE)


@contextmanager
def served_cluster(
    *, tokens: Collection[str] = (), tls: ssl.SSLContext | None = None, history_limit: int = 4096
) -> Iterator[ServedCluster]:
    cluster = ServedCluster(tokens, tls, history_limit)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()

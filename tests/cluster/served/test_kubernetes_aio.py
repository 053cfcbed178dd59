"""The asynchronous client of the `kubernetes` package against the cluster over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from kubernetes.aio import client, watch

from kubesim.clock import LoopClock
from kubesim.cluster.registry.bootstrap import bootstrap
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.store.store import Store

POD: dict[str, Any] = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def test_list_watch_and_write() -> None:
    async def main() -> list[tuple[str, str]]:
        clock, uids = LoopClock(), iter(range(1000))
        store = Store(clock.now, lambda: f"uid-{next(uids)}")
        bootstrap(store)
        server = ClusterServer(store, clock)
        await server.start()
        seen: list[tuple[str, str]] = []
        async with client.ApiClient(client.Configuration(host=server.address)) as api, asyncio.timeout(30):
            core = client.CoreV1Api(api)
            assert (await core.list_namespaced_pod("default")).items == []
            await core.create_namespaced_pod("default", POD)
            async with watch.Watch().stream(core.list_namespaced_pod, "default") as stream:
                async for event in stream:
                    seen.append((event["type"], event["object"].metadata.name))
                    if len(seen) == 1:
                        await core.patch_namespaced_pod("web", "default", {"metadata": {"labels": {"a": "b"}}})
                        await core.delete_namespaced_pod("web", "default", grace_period_seconds=0)
                    if event["type"] == "DELETED":
                        break
        await server.close()
        assert server.connections == 0
        return seen

    assert asyncio.run(main()) == [("ADDED", "web"), ("MODIFIED", "web"), ("MODIFIED", "web"), ("DELETED", "web")]

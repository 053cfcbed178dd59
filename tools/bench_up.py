"""`make bench` of `kubesim up`: requests, watches and lists over HTTPS, and pods on 100 nodes until all are Running.

The cluster is its own process; the kernel accounts its CPU time (/proc/PID/stat), so the clients do not count.
"""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.processes import start
from tools.process_costs import cpu_seconds, peak_megabytes

PODS, NODES, REPLICAS = 1067, 100, 100  # as in the published measurements of KWOK, kubemark and SimKube
STORED, PATCHED, CHANGED, WATCHES, LISTS, CLIENTS = 5000, 2000, 200, 100, 3, 4
POD_PATH = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


class Cluster:
    """A running `kubesim up`, and a client of it."""

    def __init__(self, pid: int, session: aiohttp.ClientSession) -> None:
        self.pid = pid
        self.session = session

    async def request(self, method: str, path: str, body: Any = None, content: str = "application/json") -> bytes:
        data = None if body is None else json.dumps(body)
        async with self.session.request(method, path, data=data, headers={"Content-Type": content}) as response:
            answer = await response.read()
            assert response.status < 300, answer
            return answer

    async def rate(self, count: int, act: Callable[[int], Awaitable[object]]) -> float:
        """How many actions take a second of the cluster's CPU time, with a few clients at once."""
        numbers, before = iter(range(count)), cpu_seconds(self.pid)

        async def client() -> None:
            for number in numbers:
                await act(number)

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        return count / (cpu_seconds(self.pid) - before)

    async def watch(self, path: str, until: Callable[[dict[str, Any]], bool]) -> None:
        async with self.session.get(f"{path}?watch=1") as response:
            async for line in response.content:
                if until(json.loads(line)):
                    return


@asynccontextmanager
async def running(*options: str) -> AsyncIterator[Cluster]:
    with tempfile.TemporaryDirectory() as directory:
        kubeconfig = Path(directory) / "kubeconfig"
        process = start("up", "--kubeconfig", str(kubeconfig), *options, stdout=subprocess.DEVNULL, stderr=None)
        while not kubeconfig.exists():
            assert process.poll() is None
            await asyncio.sleep(0.05)
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        session = aiohttp.ClientSession(
            cluster["server"],
            headers={"Authorization": f"Bearer {user['token']}"},
            connector=aiohttp.TCPConnector(ssl=trust, limit=0),
            timeout=aiohttp.ClientTimeout(None),
        )
        try:
            async with session:
                yield Cluster(process.pid, session)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def _spec() -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "nginx"}]}


def _deployment(number: int, replicas: int) -> dict[str, Any]:
    labels = {"app": f"web-{number}"}
    template = {"metadata": {"labels": labels}, "spec": _spec()}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"web-{number}"}, "spec": spec}


async def requests() -> dict[str, float]:
    """Rates with pods that no scheduler and no node takes."""
    async with running("--nodes", "0") as cluster:

        def create(number: int) -> Awaitable[object]:
            pod = {"metadata": {"name": f"pod-{number}"}, "spec": {**_spec(), "schedulerName": "none"}}
            return cluster.request("POST", POD_PATH, pod)

        def patch(number: int) -> Awaitable[object]:
            labels = {"metadata": {"labels": {"n": str(number)}}}
            return cluster.request("PATCH", f"{POD_PATH}/pod-{number % STORED}", labels, MERGE)

        found = {"creates": await cluster.rate(STORED, create), "patches": await cluster.rate(PATCHED, patch)}
        before = cpu_seconds(cluster.pid)
        for _ in range(LISTS):
            assert len(json.loads(await cluster.request("GET", POD_PATH))["items"]) == STORED
        found["list"] = (cpu_seconds(cluster.pid) - before) / LISTS
        found["events"] = await _fan_out(cluster)
        return found


async def _fan_out(cluster: Cluster) -> float:
    """Events sent to many watches per second of CPU time."""
    path = "/api/v1/namespaces/kube-system/configmaps"
    await cluster.request("POST", path, {"metadata": {"name": "watched"}, "data": {"text": "x" * 1000}})
    counts, begun = [0] * WATCHES, asyncio.Event()

    def seen(watch: int, event: dict[str, Any]) -> bool:
        named = event["object"]["metadata"]["name"] == "watched"
        counts[watch] += named
        if named and min(counts) > 0:
            begun.set()
        return counts[watch] > CHANGED

    watches = [asyncio.create_task(cluster.watch(path, partial(seen, n))) for n in range(WATCHES)]
    await begun.wait()
    before = cpu_seconds(cluster.pid)
    for number in range(CHANGED):
        await cluster.request("PATCH", f"{path}/watched", {"data": {"n": str(number)}}, MERGE)
    await asyncio.gather(*watches)
    return CHANGED * WATCHES / (cpu_seconds(cluster.pid) - before)


async def until_running() -> tuple[float, float]:
    """CPU seconds and megabytes from the start of the process until a client has seen all pods Running."""
    async with running("--nodes", str(NODES)) as cluster:
        for number in range(0, PODS, REPLICAS):
            deployment = _deployment(number, min(REPLICAS, PODS - number))
            await cluster.request("POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
        are_running: set[str] = set()

        def all_running(event: dict[str, Any]) -> bool:
            if event["object"]["status"]["phase"] == "Running":
                are_running.add(event["object"]["metadata"]["name"])
            return len(are_running) == PODS

        await cluster.watch(POD_PATH, all_running)
        return cpu_seconds(cluster.pid), peak_megabytes(cluster.pid)


def served(line: Callable[[str, str], None]) -> None:
    found = asyncio.run(requests())
    line("kubesim up: pods created, per second of its CPU time", f"{found['creates']:.0f}/s")
    line("... pods patched", f"{found['patches']:.0f}/s")
    line(f"... events sent to {WATCHES} watches", f"{found['events']:.0f}/s")
    line(f"... a list of {STORED} pods", f"{found['list']:.2f} s CPU")


def pods_on_nodes(line: Callable[[str, str], None]) -> None:
    seconds, megabytes = asyncio.run(until_running())
    line(f"kubesim up: {PODS} pods on {NODES} nodes until Running (at most 5)", f"{seconds:.1f} s CPU")
    line("... peak memory (at most 300 MB)", f"{megabytes:.0f} MB")

"""All three sources at once through one mux, in real time: an ordinary event loop, a real directory, a real url."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from aiohttp import web

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.sources.config import ConfigStream
from kubesim.sources.file import FileSource
from kubesim.sources.http import HttpSource
from kubesim.sources.manifests.real_files import RealFiles
from kubesim.sources.manifests.real_url import RealUrl
from kubesim.sources.memory import ClusterSource
from kubesim.trace import Recorder
from tests.support.sources.manifests import pod, pods
from tests.support.sources.web import answering, serving


class Wanted:
    """The pods that the sync loop would know from the updates of the mux."""

    def __init__(self, config: ConfigStream, clock: LoopClock) -> None:
        self._config, self._clock = config, clock
        self.pods: dict[str, set[str]] = {"api": set(), "file": set(), "http": set()}
        self.seen: set[str] = set()

    async def until(self, **expected: set[str]) -> None:
        async with asyncio.timeout(60):
            while any(self.pods[source] != names for source, names in expected.items()):
                update, _ = await self._config.updates.receive()
                self.seen.add(update.source)
                names = {pod.metadata.name.removesuffix("-n") for pod in update.pods}
                if update.op == "REMOVE":
                    self.pods[update.source] -= names
                else:
                    self.pods[update.source] |= names


def api_pod(name: str) -> Pod:
    manifest = pod(name)
    metadata = {"name": name, "namespace": "default"}
    return Pod.from_json({**manifest, "metadata": metadata, "spec": {**manifest["spec"], "nodeName": "n"}})


def test_three_sources_in_real_time(tmp_path: Path) -> None:
    served: list[Any] = [pod("web")]

    async def play(tasks: TaskSet, address: str) -> None:
        clock = LoopClock()
        recorder = Recorder(clock)
        config = ConfigStream(clock, recorder, ("file", "http", "api"), "n")
        store = Store(clock.now, map(str, range(1000)).__next__)
        files, url = RealFiles(str(tmp_path), clock, tasks), RealUrl(address, clock)
        sources = (
            FileSource(clock, tasks, recorder, config, files, "n", period=60 * SECOND),
            HttpSource(clock, tasks, recorder, config, url, "n", period=20 * MILLISECOND),
            ClusterSource(clock, store, config, "n", MILLISECOND),
        )
        (tmp_path / "a.yaml").write_text(json.dumps(pod("a")))
        store.create(api_pod("one"))
        for source in sources:
            source.start()
        wanted = Wanted(config, clock)
        await wanted.until(api={"one"}, file={"a"}, http={"web"})
        assert config.mux.seen_all_sources(wanted.seen)
        assert wanted.seen == {"api", "file", "http"}

        (tmp_path / "b.yaml").write_text(json.dumps(pod("b")))
        served[0] = pods("web", "web-2")
        store.create(api_pod("two"))
        await wanted.until(api={"one", "two"}, file={"a", "b"}, http={"web", "web-2"})

        (tmp_path / "a.yaml").unlink()
        served[0] = pods("web-2")
        await wanted.until(api={"one", "two"}, file={"b"}, http={"web-2"})
        for source in sources:
            source.stop()
        await clock.sleep(MILLISECOND)
        assert len(tasks) == 0, "no task is left"

    async def main() -> None:
        with serving(answering(lambda _: web.json_response(served[0]))) as address:
            async with TaskSet() as tasks:
                await tasks.run_until(play(tasks, address))

    asyncio.run(main())

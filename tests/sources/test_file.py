"""The file source: the pods of a directory, immediately and at its checks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.sources.config import ConfigStream
from kubesim.sources.file import FileSource
from kubesim.sources.manifests.simulated_files import SimulatedFiles
from kubesim.trace import Recorder


class Stage:
    def __init__(self, tasks: TaskSet) -> None:
        self.clock = LoopClock()
        self.files = SimulatedFiles()
        recorder = Recorder(self.clock)
        self.config = ConfigStream(self.clock, recorder, ("file",))
        self.source = FileSource(self.clock, tasks, recorder, self.config, self.files, "node-1")

    def write(self, file: str, name: str, image: str = "a:1") -> None:
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}}
        self.files.write(file, json.dumps({**pod, "spec": {"containers": [{"name": "c", "image": image}]}}))

    async def reported(self) -> list[tuple[str, list[str]]]:
        """The updates that the sync loop would have received since the last call."""
        await self.clock.sleep(1)
        updates: list[tuple[str, list[str]]] = []
        while (item := self.config.updates.try_receive()) is not None:
            updates.append((item[0].op, [pod.metadata.name for pod in item[0].pods]))
        return updates


def on_stage(play: Callable[[Stage], Any]) -> None:
    async def main() -> None:
        async with TaskSet() as tasks:
            await tasks.run_until(play(Stage(tasks)))

    run_virtual(main)


def test_an_empty_directory_is_a_source_that_has_reported() -> None:
    async def play(stage: Stage) -> None:
        stage.source.start()
        assert await stage.reported() == [("ADD", [])]

    on_stage(play)


def test_existing_files_are_read_at_the_start_and_changes_immediately() -> None:
    async def play(stage: Stage) -> None:
        stage.write("a.yaml", "a")
        stage.source.start()
        assert await stage.reported() == [("ADD", ["a-node-1"])]
        stage.write("b.yaml", "b")
        assert await stage.reported() == [("ADD", ["b-node-1"])]
        stage.write("a.yaml", "a", image="a:2")
        assert await stage.reported() == [("REMOVE", ["a-node-1"]), ("ADD", ["a-node-1"])]
        stage.files.remove("b.yaml")
        assert await stage.reported() == [("REMOVE", ["b-node-1"])]

    on_stage(play)


def test_the_check_corrects_errors_of_the_watch() -> None:
    async def play(stage: Stage) -> None:
        stage.write("a.yaml", "same", image="a:1")
        stage.write("b.yaml", "same", image="a:2")
        stage.source.start()
        await stage.reported()
        stage.files.remove("a.yaml")  # the watch forgets the pod of this name, which belongs to b.yaml by now
        assert await stage.reported() == [("REMOVE", ["same-node-1"])]
        await stage.clock.sleep(20 * SECOND)
        assert await stage.reported() == [("ADD", ["same-node-1"])]

    on_stage(play)


def test_a_file_that_becomes_unreadable_keeps_its_pod_until_the_next_check() -> None:
    async def play(stage: Stage) -> None:
        stage.write("a.yaml", "a")
        stage.write("b.yaml", "b")
        stage.source.start()
        await stage.reported()
        stage.files.write("a.yaml", "half a manif")
        assert await stage.reported() == []
        await stage.clock.sleep(20 * SECOND)
        assert await stage.reported() == [("REMOVE", ["a-node-1"])]

    on_stage(play)


def test_after_its_stop_nothing_is_received() -> None:
    async def play(stage: Stage) -> None:
        stage.source.start()
        await stage.reported()
        stage.source.stop()
        stage.write("a.yaml", "a")
        await stage.clock.sleep(60 * SECOND)
        assert await stage.reported() == []

    on_stage(play)

"""The file source with a real directory: the kubelet's rules, notified by inotify, in virtual time. inotify reports a
change immediately, and the virtual loop reads before time advances; so a write is received at the same instant, and no
test waits in real time.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.sources.config import ConfigStream
from kubesim.sources.file import FileSource
from kubesim.sources.manifests.manifest_files import MAX_CONFIG_LENGTH
from kubesim.sources.manifests.real_files import RealFiles
from kubesim.sources.manifests.static_pod import Manifest, read_manifest
from kubesim.sources.mux import PodConfig
from kubesim.trace import MemorySink, Recorder
from kubesim.trace.records import Note
from tests.support.soak import LONG, rounds

pytestmark = LONG


def manifest(name: str, image: str = "a:1") -> str:
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}}
    return json.dumps({**pod, "spec": {"containers": [{"name": "c", "image": image}]}})


class Stage:
    def __init__(self, tasks: TaskSet, path: Path, **options: Any) -> None:
        self.path = path
        self.clock = LoopClock()
        self.trace = MemorySink()
        recorder = Recorder(self.clock, self.trace)
        self.config = ConfigStream(self.clock, recorder, ("file",))
        files = RealFiles(str(path), self.clock, tasks)
        self.source = FileSource(self.clock, tasks, recorder, self.config, files, "node-1", **options)

    def write(self, file: str, name: str, image: str = "a:1") -> None:
        (self.path / file).write_text(manifest(name, image))

    async def reported(self) -> list[tuple[str, list[str]]]:
        """The updates that the sync loop would have received since the last call."""
        await self.clock.sleep(1000)
        updates: list[tuple[str, list[str]]] = []
        while (item := self.config.updates.try_receive()) is not None:
            updates.append((item[0].op, [pod.metadata.name.removesuffix("-node-1") for pod in item[0].pods]))
        return updates

    async def next_check(self) -> None:
        await self.clock.sleep(20 * SECOND)

    def notes(self) -> list[str]:
        notes = [
            record.text.replace(str(self.path), "DIR") for record in self.trace.records if isinstance(record, Note)
        ]
        self.trace.records.clear()
        return notes


def on_stage(play: Callable[[Stage], Coroutine[Any, Any, None]], path: Path, **options: Any) -> None:
    async def main() -> None:
        async with TaskSet() as tasks:
            await tasks.run_until(play(Stage(tasks, path, **options)))

    run_virtual(main)


def test_a_change_arrives_immediately(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        stage.write("a.yaml", "a")
        stage.source.start()
        assert await stage.reported() == [("ADD", ["a"])]
        stage.write("b.json", "b")
        assert await stage.reported() == [("ADD", ["b"])]
        stage.write("a.yaml", "a", image="a:2")
        assert await stage.reported() == [("REMOVE", ["a"]), ("ADD", ["a"])]
        (tmp_path / "b.json").unlink()
        assert await stage.reported() == [("REMOVE", ["b"])]
        assert stage.clock.elapsed() < SECOND

    on_stage(play, tmp_path)


def test_a_rename_over_a_file_is_one_change(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        stage.write("a.yaml", "a")
        stage.source.start()
        await stage.reported()
        stage.write(".a.yaml.swp", "a", image="a:2")
        assert await stage.reported() == [], "files that begin with a dot do not count"
        (tmp_path / ".a.yaml.swp").rename(tmp_path / "a.yaml")
        assert await stage.reported() == [("REMOVE", ["a"]), ("ADD", ["a"])]
        (tmp_path / "a.yaml").rename(tmp_path / "b.yaml")
        assert await stage.reported() == [("REMOVE", ["a"]), ("ADD", ["a"])], "another path is another uid"
        await stage.next_check()
        assert await stage.reported() == []

    on_stage(play, tmp_path)


def test_a_file_that_is_being_written_is_awaited(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        stage.source.start()
        await stage.reported()
        whole = manifest("a")
        with (tmp_path / "a.yaml").open("w") as file:
            file.write(whole[:30])
            file.flush()
            assert await stage.reported() == []
            file.write(whole[30:])
            file.flush()
            assert await stage.reported() == [("ADD", ["a"])]
        assert any("can't process config file" in note for note in stage.notes())
        (tmp_path / "a.yaml").write_text("")
        assert await stage.reported() == [], "a truncated file keeps its pod until the next check"
        await stage.next_check()
        assert await stage.reported() == [("REMOVE", ["a"])]

    on_stage(play, tmp_path)


def test_an_unusable_file_is_named_and_the_others_count(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        stage.write("good.yaml", "good")
        (tmp_path / "bad.yaml").write_text("kind: Pod\n")
        (tmp_path / "list.yaml").write_text(json.dumps({"kind": "PodList", "apiVersion": "v1", "items": []}))
        (tmp_path / "binary").write_bytes(b"\xff\x00\x01")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "inside.yaml").write_text(manifest("inside"))
        (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
        (tmp_path / "to-folder").symlink_to(tmp_path / "folder")
        (tmp_path / "unreadable").symlink_to("/proc/self/mem")  # cannot be read even by root
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "huge").write_bytes(b"#" * MAX_CONFIG_LENGTH)
        stage.source.start()
        assert await stage.reported() == [("ADD", ["good"])]
        problems = stage.notes()
        for words in (
            "Could not process manifest file DIR/bad.yaml: DIR/bad.yaml: couldn't parse as pod(Object 'apiVersion' is",
            "Could not process manifest file DIR/list.yaml: DIR/list.yaml: couldn't parse as pod(invalid pod: &core",
            "Could not process manifest file DIR/binary: DIR/binary: couldn't parse as pod(yaml: ",
            "Manifest path DIR/folder is a directory, not recursing into it",
            "Could not get metadata of DIR/nowhere: stat DIR/nowhere: no such file or directory",
            "Manifest path DIR/to-folder is a directory, not recursing into it",
            "Could not process manifest file DIR/unreadable: read DIR/unreadable: input/output error",
            "Manifest path DIR/pipe is not a directory or file",
            "Could not process manifest file DIR/huge: the read limit is reached",
        ):
            assert any(problem.startswith(words) for problem in problems), words
        await stage.next_check()
        assert stage.notes() == [], "each problem is reported once"

    on_stage(play, tmp_path)


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        (tmp_path / "target").write_text(manifest("a"))
        (stage.path / "a.yaml").symlink_to(tmp_path / "target")
        stage.source.start()
        assert await stage.reported() == [("ADD", ["a"])]
        (tmp_path / "target").write_text(manifest("a", "a:2"))  # outside the watched directory
        assert await stage.reported() == []
        await stage.next_check()
        assert await stage.reported() == [("REMOVE", ["a"]), ("ADD", ["a"])]

    directory = tmp_path / "manifests"
    directory.mkdir()
    on_stage(play, directory)


def test_a_directory_created_later_is_found_and_a_removed_one_removes_its_pods(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        stage.source.start()
        assert await stage.reported() == [("ADD", [])], "nothing there is an answer too"
        assert stage.notes() == ["Unable to read config path DIR: path does not exist, ignoring"]
        directory.mkdir()
        await stage.clock.sleep(SECOND)  # the watch checks for it once a second
        stage.write("a.yaml", "a")
        assert await stage.reported() == [("ADD", ["a"])]
        (directory / "a.yaml").unlink()
        directory.rmdir()
        assert await stage.reported() == [("REMOVE", ["a"])]
        directory.mkdir()
        stage.write("b.yaml", "b")
        assert await stage.reported() == [], "a directory that is created again is not watched"
        await stage.next_check()
        assert await stage.reported() == [("ADD", ["b"])]

    directory = tmp_path / "manifests"
    on_stage(play, directory)


def test_a_single_file_can_be_the_source(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        file = stage.path
        file.write_text("not yet")
        stage.source.start()
        assert await stage.reported() == [], "a bad file is no answer: this source has not been heard"
        file.write_text(manifest("a"))
        assert await stage.reported() == [("ADD", ["a"])]
        file.with_name("new").write_text(manifest("a", "a:2"))
        file.with_name("new").rename(file)
        # The old file is removed with its name, and so is the pod: the check finds a new file of this name.
        assert [update for update in await stage.reported() if update != ("ADD", ["a"])] == [("REMOVE", ["a"])] * 2
        await stage.next_check()
        assert await stage.reported() == [("ADD", ["a"])]

    on_stage(play, tmp_path / "pod.yaml")


def test_names_that_are_not_text_are_harmless(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.yaml")).write_text(manifest("a"))
    (tmp_path / os.fsdecode(b"\xfe.yaml")).write_text("nothing")

    async def play(stage: Stage) -> None:
        stage.source.start()
        assert await stage.reported() == [("ADD", ["a"])]
        assert "".join(stage.notes()).encode()

    on_stage(play, tmp_path)


def test_a_stopped_source_leaves_nothing(tmp_path: Path) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))

    async def main() -> None:
        async with TaskSet() as tasks:

            async def play() -> None:
                for _ in range(5):
                    stage = Stage(tasks, tmp_path)
                    stage.source.start()
                    await stage.reported()
                    stage.source.stop()
                    stage.write("a.yaml", "a")
                    await stage.clock.sleep(1)
                    assert await stage.reported() == []
                    (tmp_path / "a.yaml").unlink()
                assert len(tasks) == 0

            await tasks.run_until(play())

    run_virtual(main)
    assert len(os.listdir("/proc/self/fd")) == descriptors


# -- a storm ------------------------------------------------------------------------------------------------------


def wanted(directory: Path) -> dict[str, str]:
    """The content of the directory, read directly: pod name -> uid."""
    found = {}
    for path in sorted(directory.iterdir()):
        if not path.name.startswith("."):
            pods = read_manifest(Manifest("file", str(path), "node-1", path.read_text())).pods
            found.update({pod.metadata.name: pod.metadata.uid for pod in pods})
    return found


def empty(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()


def held(config: PodConfig) -> dict[str, str]:
    """The pods of the source in the mux."""
    source = config._reported["file"]
    return {pod.metadata.name: pod.metadata.uid for pod in source.pods.values()}


class Storm:
    """Renames, truncations, deletions and writes, with few names so that they collide."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._directory = directory
        self._random = random.Random(seed)

    def rage(self, strikes: int) -> None:
        for _ in range(strikes):
            self.strike()

    def strike(self) -> None:
        draw, names = self._random, [f"{number}.yaml" for number in range(12)] + [".hidden"]
        path, other = (self._directory / draw.choice(names) for _ in range(2))
        match draw.choice(("write", "write", "rename", "rename", "truncate", "delete", "replace", "chmod")):
            case "write":
                path.write_text(manifest(f"pod-{draw.randrange(10)}", f"image:{draw.randrange(5)}"))
            case "rename" if path.exists():
                path.rename(other)
            case "truncate" if path.exists():
                os.truncate(path, draw.choice((0, 20)))
            case "delete":
                path.unlink(missing_ok=True)
            case "replace":
                new = self._directory / ".new"
                new.write_text(manifest(f"pod-{draw.randrange(10)}"))
                new.rename(path)
            case "chmod" if path.exists():
                path.chmod(draw.choice((0o600, 0o644)))


def test_after_many_changes_the_source_has_exactly_the_content_of_the_directory(tmp_path: Path) -> None:
    async def play(stage: Stage) -> None:
        stage.source.start()
        storm = Storm(tmp_path, seed=7)
        for strike in range(rounds(10_000)):
            storm.strike()
            if strike % 3 == 0:
                await stage.clock.sleep(1000)
        await stage.next_check()
        assert held(stage.config.mux) == wanted(tmp_path)
        empty(tmp_path)
        await stage.next_check()
        assert held(stage.config.mux) == {}
        assert stage.config.updates.dropped == 0

    on_stage(play, tmp_path)


def test_many_changes_that_overflow_the_queue_are_handled(tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())

    async def play(stage: Stage) -> None:
        stage.source.start()
        await stage.reported()
        a, b = tmp_path / "a", tmp_path / "b"
        for _ in range(limit // 4 + 1):  # four events each; consecutive ones differ, or they would be merged
            a.touch()
            a.rename(b)
            b.unlink()
        stage.write("c.yaml", "c")
        await stage.reported()
        assert any("queue or buffer overflow" in note for note in stage.notes())
        await stage.next_check()
        assert held(stage.config.mux) == wanted(tmp_path)
        stage.write("d.yaml", "d")
        assert ("ADD", ["d"]) in await stage.reported(), "the watch has begun again"

    on_stage(play, tmp_path)


def test_many_concurrent_changes_in_real_time(tmp_path: Path) -> None:
    """On an ordinary event loop, with another thread that changes files: the source is notified during the changes."""

    async def main() -> None:
        async with TaskSet() as tasks:
            stage = Stage(tasks, tmp_path, period=SECOND // 20)

            async def play() -> None:
                stage.source.start()
                storm = Storm(tmp_path, seed=11)
                await asyncio.to_thread(storm.rage, rounds(10_000))
                async with asyncio.timeout(600):
                    while held(stage.config.mux) != wanted(tmp_path):
                        await stage.config.updates.receive()
                stage.source.stop()

            await tasks.run_until(play())

    asyncio.run(main())

"""Bootstrap checkpoints: their content, reading them, and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Container, Pod, PodSpec
from kubesim.errors import UsageError
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.sources.checkpoint import (
    ANNOTATION,
    CheckpointDirectory,
    CheckpointError,
    CheckpointStore,
    MemoryCheckpoints,
    PodCheckpoints,
    decode,
    encode,
)


def pod(name: str, uid: str = "", *, wanted: bool = True) -> Pod:
    annotations = {ANNOTATION: "true"} if wanted else {}
    metadata = ObjectMeta(name=name, namespace="default", uid=uid or f"uid-{name}", annotations=annotations)
    return Pod(metadata=metadata, spec=PodSpec(containers=(Container(name="c", image="i"),)))


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointStore:
    return MemoryCheckpoints() if request.param == "memory" else CheckpointDirectory(str(tmp_path / "checkpoints"))


class Kept:
    """Checkpoints, and the messages about them."""

    def __init__(self, store: CheckpointStore) -> None:
        self.reported: list[str] = []
        self.checkpoints = PodCheckpoints(store, self.reported.append)

    def names(self) -> list[str]:
        return [pod.metadata.name for pod in self.checkpoints.load()]


def test_a_written_checkpoint_is_read_again(store: CheckpointStore) -> None:
    kept = Kept(store)
    kept.checkpoints.put(pod("a"))
    kept.checkpoints.put(pod("b"))
    assert store.names() == ["Pod_uid-a.yaml", "Pod_uid-b.yaml"]
    assert kept.checkpoints.load() == [pod("a"), pod("b")]
    assert kept.reported == []


def test_only_pods_that_request_it_and_only_while_they_do(store: CheckpointStore) -> None:
    kept = Kept(store)
    kept.checkpoints.put(pod("a", wanted=False))
    assert kept.names() == []
    kept.checkpoints.put(pod("a"))
    assert kept.names() == ["a"]
    kept.checkpoints.put(pod("a", wanted=False))
    assert kept.names() == []


def test_a_checkpoint_is_removed_with_its_pod(store: CheckpointStore) -> None:
    kept = Kept(store)
    manager = PodManager(kept.checkpoints)
    manager.update(pod("a"))
    manager.update(pod("b"))
    manager.remove(pod("a"))
    assert kept.names() == ["b"]


def test_a_damaged_one_is_reported_and_does_not_affect_others(store: CheckpointStore) -> None:
    kept = Kept(store)
    kept.checkpoints.put(pod("a"))
    store.write("Pod_uid-b.yaml", encode(pod("b")).replace('"image":"i"', '"image":"other"'))
    store.write("Pod_uid-c.yaml", "half a file {")
    assert kept.names() == ["a"]
    assert kept.reported[0] == 'Failed to retrieve checkpoint for pod "Pod_uid-b.yaml": checkpoint is corrupted'
    assert kept.reported[1].startswith('Failed to retrieve checkpoint for pod "Pod_uid-c.yaml": not a checkpoint: ')


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"Pod": 1, "Checksum": 2}', '{"Pod": {}}', "[" * 100_000])
def test_an_invalid_checkpoint(text: str) -> None:
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        decode(text)


def test_a_uid_cannot_leave_the_directory(tmp_path: Path) -> None:
    kept = Kept(CheckpointDirectory(str(tmp_path / "checkpoints")))
    for uid in ("../../evil", "a/b", "x" * 300):
        kept.checkpoints.put(pod("a", uid))
        kept.checkpoints.remove(pod("a", uid))
    assert {text.rpartition(": ")[2] for text in kept.reported} == {"invalid key"}
    assert [path.name for path in tmp_path.rglob("*")] == ["checkpoints"]


def test_a_directory_holds_the_old_or_the_new_one_and_temporary_files_are_ignored(tmp_path: Path) -> None:
    store = CheckpointDirectory(str(tmp_path))
    kept = Kept(store)
    kept.checkpoints.put(pod("a"))
    (tmp_path / ".crashed").write_text("half")
    assert kept.names() == ["a"]
    written = json.loads((tmp_path / "Pod_uid-a.yaml").read_text())
    assert written.keys() == {"Pod", "Checksum"}
    assert [path.name for path in tmp_path.iterdir() if path.name != ".crashed"] == ["Pod_uid-a.yaml"]


def test_an_unusable_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot keep checkpoints there"):
        CheckpointDirectory(str(tmp_path / "file" / "below"))
    store = CheckpointDirectory(str(tmp_path / "gone"))
    (tmp_path / "gone").rmdir()
    kept = Kept(store)
    assert kept.names() == []
    (tmp_path / "gone").write_text("")
    kept.checkpoints.put(pod("a"))
    assert kept.reported[0].startswith("Error writing checkpoint for pod: a: ")

"""Bootstrap checkpoints: a v1.12 kubelet stores pods on disk to restart them without an API server.

A pod with the checkpoint annotation is stored at every update and removed with the pod. At the next start the kubelet
sends all checkpoints as RESTORE before it queries the API server. A `CheckpointStore` stores them: in memory for a
simulated node, in a directory for a real one.

Mirrors: v1.12 pkg/kubelet/checkpoint/checkpoint.go, checkpointmanager, util/store/filestore.go
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from kubesim.api.pod import Pod
from kubesim.errors import KubesimError, UsageError

ANNOTATION = "node.kubernetes.io/bootstrap-checkpoint"
_TEMPORARY = "."
_KEY = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_MAX_KEY = 250


class CheckpointError(KubesimError):
    """A checkpoint cannot be written or read."""


class CheckpointStore(Protocol):
    """Checkpoint texts by name. Raises CheckpointError."""

    def names(self) -> list[str]: ...
    def read(self, name: str) -> str: ...
    def write(self, name: str, text: str) -> None: ...
    def remove(self, name: str) -> None:
        """Remove a checkpoint, if it exists."""
        ...


class PodCheckpoints:
    """Writes and loads checkpoints. Errors are not raised but passed to `report`."""

    def __init__(self, store: CheckpointStore, report: Callable[[str], object]) -> None:
        self._store = store
        self._report = report

    def load(self) -> list[Pod]:
        pods = []
        for name in self._store.names():
            try:
                pods.append(decode(self._store.read(name)))
            except CheckpointError as error:
                self._report(f'Failed to retrieve checkpoint for pod "{name}": {error}')
        return pods

    def put(self, pod: Pod) -> None:
        """Write the checkpoint; remove it if the pod no longer has the annotation."""
        try:
            if pod.metadata.annotations.get(ANNOTATION) == "true":
                self._store.write(_name(pod), encode(pod))
            else:
                self._store.remove(_name(pod))
        except CheckpointError as error:
            self._report(f"Error writing checkpoint for pod: {pod.metadata.name}: {error}")

    def remove(self, pod: Pod) -> None:
        try:
            self._store.remove(_name(pod))
        except CheckpointError as error:
            self._report(f"Error deleting checkpoint for pod: {pod.metadata.name}: {error}")


def _name(pod: Pod) -> str:
    name = f"Pod_{pod.metadata.uid}.yaml"
    if len(name) > _MAX_KEY or not _KEY.fullmatch(name):  # a manifest may have any UID
        raise CheckpointError("invalid key")
    return name


def encode(pod: Pod) -> str:
    content = pod.to_json()
    return json.dumps({"Pod": content, "Checksum": _checksum(content)}, separators=(",", ":"))


def decode(text: str) -> Pod:
    try:
        found = json.loads(text)
        content = found["Pod"]
        pod = Pod.from_json(content)
        intact = found["Checksum"] == _checksum(content)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckpointError(f"not a checkpoint: {str(error).splitlines()[0]}") from None
    if not intact:
        raise CheckpointError("checkpoint is corrupted")
    return pod


def _checksum(content: object) -> int:
    """FNV-1a, 32 bits. Upstream hashes a dump of its Go structs; both detect the same changes."""
    value = 0x811C9DC5
    for byte in json.dumps(content, sort_keys=True).encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


class MemoryCheckpoints:
    """Checkpoints on a simulated node's disk, which outlives the kubelet process."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def names(self) -> list[str]:
        return sorted(self._texts)

    def read(self, name: str) -> str:
        return self._texts[name]

    def write(self, name: str, text: str) -> None:
        self._texts[name] = text

    def remove(self, name: str) -> None:
        self._texts.pop(name, None)


class CheckpointDirectory:
    """Checkpoint files, written to a temporary file and renamed: a crash leaves the old or the new one."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path}: cannot keep checkpoints there: {error.strerror}") from None

    def names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._path) if not name.startswith(_TEMPORARY))
        except OSError:
            return []

    def read(self, name: str) -> str:
        try:
            return (self._path / name).read_text(errors="replace")
        except OSError as error:
            raise CheckpointError(str(error.strerror)) from None

    def write(self, name: str, text: str) -> None:
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=self._path)
        except OSError as error:
            raise CheckpointError(str(error.strerror)) from None
        try:
            with open(descriptor, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, self._path / name)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)
            raise CheckpointError(str(error.strerror)) from None

    def remove(self, name: str) -> None:
        try:
            (self._path / name).unlink(missing_ok=True)
        except OSError as error:
            raise CheckpointError(str(error.strerror)) from None

"""`--state DIR`: the objects of a cluster as a log of all changes, from which a new process continues.

A change is in the log before any client sees it, and on the disk before its author gets the answer. At the start the
log is read and compacted. A partial last line (after a crash) was never acknowledged; invalid data before the last line
is an error.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pods.signed_token import KEY_BYTES
from kubesim.clock import external
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import InputError, UsageError
from kubesim.up.identity import new_token_key, write_private
from kubesim.values import mutable

LOG, _LOCK, _KEY = "objects.jsonl", "lock", "token.key"
_FORMAT = "kubesim-state/1"
_SLACK = 16 << 20  # the log is compacted when it exceeds twice its minimal length by these bytes


@mutable
class StoredState:
    """The content of a log. `time` is its last time."""

    objects: dict[tuple[str, str, str], dict[str, Any]]
    version: int = 0
    time: int = 0


class StateLog:
    """The log in one directory, which no other process uses. `failed` is called if a write fails."""

    def __init__(self, directory: Path) -> None:
        """Open the log. Raises UsageError."""
        self._path = directory / LOG
        self.failed: Callable[[Exception], None] = lambda error: None
        self._file = -1
        self._written = self._synced = 0
        self._length = self._shortest = 0
        self._syncing: asyncio.Task[None] | None = None
        self._store: Store | None = None
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"--state {directory}: another kubesim up uses it: stop that one, or name another"
            ) from None
        except OSError as error:
            raise UsageError(f"--state {directory}: {error.strerror or error}") from None
        self.found = read_log(self._path)

    def token_key(self) -> bytes:
        """The key of the cluster's tokens, which is new in a new directory. Raises UsageError."""
        path = self._path.with_name(_KEY)
        try:
            key = bytes.fromhex(path.read_text())
        except FileNotFoundError:
            key = new_token_key()
            write_private(path, key.hex() + "\n")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}") from None
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            remedy = "restore it from a copy, or remove it, which invalidates all tokens"
            raise UsageError(f"{path}: is not the key of a cluster: {remedy}")
        return key

    def bring_back(self, store: Store) -> None:
        objects = [_object(value) for value in self.found.objects.values()]
        store.restore(objects, self.found.version)

    def follow(self, store: Store) -> None:
        """Write the existing objects, and from now on each change."""
        self._store = store
        self._rewrite()
        store.watch_all(self._changed)

    def _rewrite(self) -> None:
        """Compact the log; the new log replaces the old one when it is complete."""
        store = self._store
        assert store is not None
        lines = [_line({"format": _FORMAT, "version": store.resource_version, "time": store.now()})]
        lines += [_line({"object": _json(obj)}) for kind in store.kinds() for obj in store.list(kind)]
        new = self._path.with_suffix(".new")
        try:
            with open(new, "wb", opener=_private) as file:
                file.write(b"".join(lines))
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._path)
            directory = os.open(self._path.parent, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)
            if self._file >= 0:
                os.close(self._file)
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"{self._path}: {error.strerror or error}") from None
        self._length = self._shortest = sum(map(len, lines))
        self._synced = self._written

    def _changed(self, event: WatchEvent) -> None:
        store = self._store
        assert store is not None
        obj, head = event.object, {"version": event.resource_version, "time": store.now()}
        if event.type == "DELETED":
            data = _line(head | {"gone": [obj.kind, obj.metadata.namespace, obj.metadata.name]})
        else:
            data = _line(head | {"object": _json(obj)})
        try:
            if self._length > self._shortest * 2 + _SLACK:
                self._rewrite()
            _write_all(self._file, data)
        except OSError as error:
            self.failed(UsageError(f"{self._path}: {error.strerror or error}"))
        except UsageError as error:
            self.failed(error)
        self._length += len(data)
        self._written += 1

    async def durable(self) -> None:
        """Wait until all written changes are on the disk. Several waiters share one fdatasync."""
        wanted = self._written
        while self._synced < wanted:
            if self._syncing is None:
                self._syncing = asyncio.get_running_loop().create_task(self._sync())
            await asyncio.shield(self._syncing)

    async def _sync(self) -> None:
        written = self._written
        try:
            with external():
                await asyncio.get_running_loop().run_in_executor(None, os.fdatasync, self._file)
            self._synced = max(self._synced, written)
        except OSError as error:
            self.failed(UsageError(f"{self._path}: {error.strerror or error}"))
            self._synced = self._written
        finally:
            self._syncing = None

    @property
    def is_durable(self) -> bool:
        return self._synced == self._written

    def close(self) -> None:
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)


def _private(path: str, flags: int) -> int:
    """Open a file that only this user can read, because the log contains Secrets."""
    return os.open(path, flags, 0o600)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _json(obj: ApiObject) -> dict[str, Any]:
    return {"kind": obj.kind} | obj.to_json()


def _object(value: dict[str, Any]) -> ApiObject:
    return resource_of(value["kind"]).model.from_json(value)


def read_log(path: Path) -> StoredState:
    """Read a log. Raises UsageError."""
    state = StoredState({})
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return state
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    *lines, _ = data.split(b"\n")  # data after the last newline is partial
    for number, line in enumerate(lines, start=1):
        try:
            _apply(state, json.loads(line.decode("utf-8", "surrogatepass")), first=number == 1)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = f"is not the log of a cluster ({error}): restore it from a copy, or name another --state"
            raise InputError(str(path), problem, line=number) from None
    return state


def _apply(state: StoredState, entry: dict[str, Any], *, first: bool) -> None:
    if first and entry["format"] != _FORMAT:
        raise ValueError(f"format {entry['format']!r}, not {_FORMAT!r}")
    state.version = max(state.version, int(entry.get("version", 0)))
    state.time = max(state.time, int(entry.get("time", 0)))
    if "gone" in entry:
        kind, namespace, name = entry["gone"]
        state.objects.pop((kind, namespace, name), None)
    elif "object" in entry:
        metadata = entry["object"]["metadata"]
        key = (entry["object"]["kind"], metadata.get("namespace", ""), metadata["name"])
        state.objects[key] = entry["object"]

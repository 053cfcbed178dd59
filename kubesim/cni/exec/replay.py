"""Recordings of CNI operations: a file per plugin execution, and an `Exec` that replays them.

    DIR/operation.json           the request: command, network, attachment
    DIR/cache/results/…          libcni's cache before the operation
    DIR/0001-ADD-bridge.json     one execution: path, env, stdin, stdout, stderr, exit, seconds

A recording can be replayed on a machine that has neither the plugins nor the privileges to run them.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import NetworkConfigList
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.plugin_files import plugin_failure
from kubesim.cni.exec.process import Execution
from kubesim.errors import CniError, InputError, UsageError
from kubesim.golang.structs import ANYTHING, BYTES, OBJECT, STRING, Array, GoType, Map, Slice, Struct, unmarshal
from kubesim.golang.text import listed, quoted

OPERATION: Final = "operation.json"
CACHE: Final = "cache"
# Field types that a replay reads.
_OPERATION: Final[Mapping[str, GoType]] = {
    "command": STRING,
    "binDirs": Slice(STRING),
    "conflist": STRING,
    "containerID": STRING,
    "netns": STRING,
    "ifname": STRING,
    "args": Slice(Array(2, STRING)),
    "capabilityArgs": OBJECT,
}
_STREAMS: Final = ("stdin", "stdout", "stderr")
_EXECUTION: Final[Mapping[str, GoType]] = {
    **dict.fromkeys(("plugin", "path", "ended", *_STREAMS), STRING),
    **{f"{name}Base64": BYTES for name in _STREAMS},
    "env": Map(STRING),
    "seconds": ANYTHING,
}


def execution_json(execution: Execution) -> dict[str, Any]:
    """The JSON of an execution; data that is not UTF-8 is base64."""
    out: dict[str, Any] = {
        "plugin": os.path.basename(execution.path),
        "path": execution.path,
        "env": {key: value for key, value in sorted(execution.environ.items()) if key.startswith("CNI_")},
        "ended": execution.how or "exit status 0",
        "seconds": round(execution.seconds, 6),
    }
    for name in ("stdin", "stdout", "stderr"):
        data: bytes = getattr(execution, name)
        try:
            out[name] = data.decode()
        except UnicodeDecodeError:
            out[f"{name}Base64"] = base64.b64encode(data).decode()
    return out


class Recording:
    """Writes to a directory, which must not contain a recording."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._count = 0
        try:
            os.makedirs(directory, exist_ok=True)
            if os.listdir(directory):
                raise UsageError(f"--record {directory}: the directory is not empty")
        except OSError as error:
            raise UsageError(f"--record {directory}: {error.strerror}") from None

    def begin(
        self, command: str, network: NetworkConfigList, runtime: RuntimeConf, bin_dirs: Sequence[str], cache_dir: str
    ) -> None:
        operation = {
            "command": command,
            "binDirs": list(bin_dirs),
            "conflist": network.source.decode("utf-8", "go-replace"),
            "containerID": runtime.container_id,
            "netns": runtime.netns,
            "ifname": runtime.ifname,
            "args": [list(pair) for pair in runtime.args],
            "capabilityArgs": runtime.capability_args,
        }
        self._write(OPERATION, operation)
        results = os.path.join(cache_dir, "results")
        if os.path.isdir(results):
            shutil.copytree(results, os.path.join(self.directory, CACHE, "results"))

    def observe(self, execution: Execution) -> None:
        self._count += 1
        command = execution.environ.get("CNI_COMMAND", "")
        name = f"{self._count:04d}-{command}-{os.path.basename(execution.path)}.json"
        self._write(name, execution_json(execution))

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.write("\n")


class Replay:
    """An `Exec` that replays a recording and notes requests that differ from it."""

    def __init__(self, directory: str, observe: Callable[[Execution], None] | None = None) -> None:
        self.directory = directory
        self.operation = _read(os.path.join(directory, OPERATION), _OPERATION)
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json") and name != OPERATION)
        self._left = [_read(os.path.join(directory, name), _EXECUTION) | {"file": name} for name in names]
        self._observe = observe
        self.differences: list[str] = []

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        for recorded in self._left:
            if recorded["plugin"] == plugin:
                return str(recorded["path"])
        raise CniError(f"failed to find plugin {quoted(plugin)} in path {listed(paths)}")

    async def exec_plugin(
        self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context = BACKGROUND
    ) -> bytes:
        command, plugin = environ["CNI_COMMAND"], os.path.basename(path)
        recorded = self._next(command, plugin)
        self._compare(recorded, stdin, environ)
        stdout, stderr = (_data(recorded, name) for name in ("stdout", "stderr"))
        how = "" if recorded["ended"] == "exit status 0" else str(recorded["ended"])
        if self._observe is not None:
            self._observe(Execution(path, environ, stdin, stdout, stderr, how, _seconds(recorded)))
        if how:
            raise plugin_failure(how, stdout, stderr)
        return stdout

    def _next(self, command: str, plugin: str) -> dict[str, Any]:
        for n, recorded in enumerate(self._left):
            if recorded["plugin"] == plugin and (recorded["env"] or {}).get("CNI_COMMAND") == command:
                return self._left.pop(n)
        raise CniError(f"the recording has no further execution of {plugin} with {command}")

    def _compare(self, recorded: dict[str, Any], stdin: bytes, environ: Mapping[str, str]) -> None:
        if _data(recorded, "stdin") != stdin:
            self.differences.append(f"{recorded['file']}: stdin was {_data(recorded, 'stdin')!r}, now it is {stdin!r}")
        for name, value in (recorded["env"] or {}).items():
            if environ.get(name) != value:
                self.differences.append(f"{recorded['file']}: {name} was {value!r}, now it is {environ.get(name)!r}")

    def not_asked(self) -> list[str]:
        """Executions of the recording that the replay did not request."""
        return [str(recorded["file"]) for recorded in self._left]


def _data(recorded: Mapping[str, Any], name: str) -> bytes:
    return bytes(recorded[f"{name}Base64"]) or str(recorded[name]).encode()


def _seconds(recorded: Mapping[str, Any]) -> float:
    seconds = recorded["seconds"]
    return seconds if isinstance(seconds, float) else 0.0


def _read(path: str, fields: Mapping[str, GoType]) -> dict[str, Any]:
    """The object in a file; a missing field has its zero value. Raises InputError."""
    try:
        with open(path, "rb") as file:
            given: dict[str, Any] = unmarshal(Struct("recording", fields), file.read())
    except OSError as error:
        raise InputError(path, f"not a recording: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(path, f"not a recording: {error}") from None
    return {name: type_.zero() for name, type_ in fields.items()} | given

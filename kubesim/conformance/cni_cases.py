"""Shared parts of the container networking corpora: error notation, path placeholders, prepared directories, scripted
plugins.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubesim.api.pods.dns_config import DNSConfig
from kubesim.cni.exec.context import Context
from kubesim.cni.exec.plugin_files import find_in_path, plugin_failure
from kubesim.cni.pod_config import PodNetworkConfig, PortMapping
from kubesim.conformance.frame import differences
from kubesim.conformance.narrowing import without_nil
from kubesim.errors import CniError


def error_json(error: CniError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    out: dict[str, Any] = {"text": str(error)}
    said = error.plugin_error()
    if said is not None:
        out["cni"] = {"code": said.code, "msg": said.message, "details": said.details}
    if error.kinds:
        out["gocni_kinds"] = list(error.kinds)
    return out


class PathNames:
    """Local directories, and their placeholders in a corpus."""

    def __init__(self, **names: Path | str) -> None:
        self._names = {str(path): f"@{name}@" for name, path in names.items()}

    def hide(self, value: Any) -> Any:
        """The value with placeholders for directories in all texts."""
        if isinstance(value, str):
            for path, name in self._names.items():
                value = value.replace(path, name)
            return value
        if isinstance(value, dict):
            return {self.hide(key): self.hide(item) for key, item in value.items()}
        return [self.hide(item) for item in value] if isinstance(value, list) else value

    def show(self, text: str) -> str:
        for path, name in self._names.items():
            text = text.replace(name, path)
        return text


def fill(directory: Path, entries: Iterable[Mapping[str, Any]]) -> None:
    """Empty a directory, and create files, directories and links in it."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for entry in entries:
        path = directory / entry["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.get("dir"):
            path.mkdir(exist_ok=True)
        elif "symlink" in entry:
            path.symlink_to(entry["symlink"])
        else:
            path.write_bytes(entry["content"].encode("utf-8", "surrogatepass"))


class ScriptedExec:
    """Plugins that answer from a script {type: {command or "*": reply}}; records every call."""

    def __init__(self) -> None:
        self.script: Mapping[str, Any] = {}
        self.calls: list[dict[str, Any]] = []

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return find_in_path(plugin, paths)

    async def exec_plugin(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> bytes:
        command = environ["CNI_COMMAND"]
        answers = self.script.get(os.path.basename(path), {})
        given = answers.get(command, answers.get("*", {"stdout": "{}"} if command == "ADD" else {}))
        reply = {"stdout": given.get("stdout", ""), "stderr": given.get("stderr", ""), "exit": given.get("exit", 0)}
        self.calls.append(
            {
                "path": path,
                "env": {key: value for key, value in environ.items() if key.startswith("CNI_")},
                "stdin": json.loads(stdin),
                "stdin_raw": stdin.decode(),
                "reply": reply,
            }
        )
        stdout: bytes = reply["stdout"].encode()
        if reply["exit"]:
            raise plugin_failure(f"exit status {reply['exit']}", stdout, reply["stderr"].encode())
        return stdout


def judge_either(case: Mapping[str, Any], expected: Any, actual: Any) -> list[str]:
    """Compare with the recorded answer, or with that of the newer JSON library."""
    found = _differences(expected, actual)
    if found and "out_jsonv2" in case and not _differences(case["out_jsonv2"], actual):
        return []
    return found


def _differences(expected: Any, actual: Any) -> list[str]:
    """Differences; a Go panic matches any error, but the output before it must be equal."""
    expected_steps, actual_steps = ([given] if isinstance(given, dict) else given for given in (expected, actual))
    if len(expected_steps) != len(actual_steps):
        return list(differences(expected, actual))
    found = []
    for n, (left, right) in enumerate(zip(expected_steps, actual_steps, strict=True)):
        where = "" if isinstance(expected, dict) else f"[{n}]"
        if "panic" in left:
            left = {key: value for key, value in left.items() if key not in ("panic", "error")}
            if not right.get("error"):
                found.append(f"{where}: an error was expected instead of a panic")
            right = {key: right.get(key) for key in left}
        found += differences(without_nil(left), without_nil(right), where)
    return found


def pod_config(pod: Mapping[str, Any]) -> PodNetworkConfig:
    """The pod of a case."""
    metadata, dns = pod.get("metadata") or {}, pod.get("dns_config")
    return PodNetworkConfig(
        metadata.get("name", ""),
        metadata.get("namespace", ""),
        metadata.get("uid", ""),
        pod.get("annotations"),
        tuple(_port_mapping(mapping) for mapping in pod.get("port_mappings") or ()),
        None if dns is None else DNSConfig(dns.get("servers"), dns.get("searches"), dns.get("options")),
        (pod.get("linux") or {}).get("cgroup_parent", ""),
    )


def _port_mapping(given: Mapping[str, Any]) -> PortMapping:
    return PortMapping(
        given.get("protocol", 0), given.get("container_port", 0), given.get("host_port", 0), given.get("host_ip", "")
    )

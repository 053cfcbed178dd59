"""`kubesim cni`: configurations, recorded plugin outputs, libcni's cache, and some real plugin processes."""

from __future__ import annotations

import functools
import json
import stat
from pathlib import Path
from random import Random
from typing import Any

from tests.support.fuzz.damage import json_bytes
from tests.support.fuzz.families import Invocation
from tests.support.fuzz.mutations import Mutator, nested

_BRIDGE: dict[str, Any] = {
    "type": "bridge", "bridge": "cni0", "isGateway": True, "capabilities": {"portMappings": True, "dns": True},
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]},
    "dns": {"nameservers": ["10.0.0.1"], "domain": "a.b", "search": ["c"], "options": ["d"]},
}  # fmt: skip
_LIST: dict[str, Any] = {
    "cniVersion": "1.0.0", "name": "pods", "disableCheck": False, "cniVersions": ["0.4.0", "1.0.0"], "disableGC": False,
    "loadOnlyInlinedPlugins": False, "plugins": [_BRIDGE, {"type": "portmap", "capabilities": {"portMappings": True}}],
}  # fmt: skip
_RESULT: dict[str, Any] = {
    "cniVersion": "1.0.0", "interfaces": [{"name": "cni0", "mac": "00:11:22:33:44:55"}, {"name": "eth0",
    "sandbox": "/run/ns", "mtu": 1500}],
    "ips": [{"address": "10.88.0.2/16", "gateway": "10.88.0.1", "interface": 1}], "routes": [{"dst": "0.0.0.0/0",
    "gw": "10.88.0.1", "mtu": 9}],
    "dns": {"nameservers": ["10.0.0.1"]},
}  # fmt: skip
_OLD_RESULT: dict[str, Any] = {
    "cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.2/24", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0"}]},
    "dns": {}
}  # fmt: skip
_ERROR: dict[str, Any] = {"cniVersion": "1.0.0", "code": 11, "msg": "try again", "details": "later"}
_VERSIONS: dict[str, Any] = {"cniVersion": "1.0.0", "supportedVersions": ["0.3.1", "0.4.0", "1.0.0"]}
_OPERATION: dict[str, Any] = {
    "command": "add", "binDirs": ["/opt/cni/bin"], "containerID": "c1", "netns": "/run/ns", "ifname": "eth0",
    "args": [["K8S_POD_NAME", "a"]],
    "capabilityArgs": {"portMappings": [{"hostPort": 80, "containerPort": 8080, "protocol": "tcp"}]},
}  # fmt: skip
COMMANDS = ("add", "check", "del", "gc", "status")


@functools.cache
def _configurations() -> Mutator:
    single = {"cniVersion": "0.4.0", "name": "single", **_BRIDGE}
    return Mutator([_LIST, _LIST, single, {**_LIST, "plugins": [{"type": "loopback"}]}])


@functools.cache
def _answers() -> Mutator:
    return Mutator([_RESULT, _RESULT, _OLD_RESULT, _ERROR, _VERSIONS])


@functools.cache
def _executions() -> Mutator:
    return Mutator(
        [_execution("ADD", "bridge", "{}", "exit status 0"), _execution("ADD", "bridge", "{}", "exit status 1")]
    )


@functools.cache
def _operations() -> Mutator:
    return Mutator([_OPERATION])


def _execution(command: str, plugin: str, stdout: str, ended: str) -> dict[str, Any]:
    env = {"CNI_COMMAND": command, "CNI_CONTAINERID": "c1", "CNI_IFNAME": "eth0", "CNI_NETNS": "/run/ns"}
    return {"plugin": plugin, "path": f"/opt/cni/bin/{plugin}", "env": env, "ended": ended, "seconds": 0.01,
    "stdin": "{}", "stdout": stdout, "stderr": ""}  # fmt: skip


def network_configuration(rng: Random, folder: Path) -> Invocation:
    """A directory of configurations, and each command that reads one."""
    network = _write_configurations(rng, folder)
    places = ["--conf-dir", str(folder), "--bin-dir", str(folder), "--cache-dir", str(folder / "cache")]
    how = rng.choice((["conf"], ["conf", "-o", "json"], ["conf", "--profile", "v1.12"], ["conf", "--profile",
    "v1.6"], ["conf", "--max-conf-num", "0"],
                      ["info"], ["info", "--internal-loopback"], [rng.choice(COMMANDS), network]))  # fmt: skip
    netns = ["/run/ns"] if how[0] in ("add", "check", "del") else []
    return Invocation(["cni", *how, *netns, *places])


def _write_configurations(rng: Random, folder: Path) -> str:
    """Write configurations; returns the name of a network that may exist."""
    network = "pods"
    for number in range(rng.choice((1, 1, 2, 3))):
        tree = _configurations().mutated(rng)
        if isinstance(tree, dict) and isinstance(tree.get("name"), str) and "\0" not in tree["name"]:
            network = tree["name"].encode("utf-8", "replace").decode()
        suffix = rng.choice(("conflist", "conflist", "conf", "json"))
        (folder / f"{number}.{suffix}").write_bytes(json_bytes(tree, rng))
        if rng.random() < 0.1:
            inlined = folder / "pods"
            inlined.mkdir(exist_ok=True)
            (inlined / "a.conf").write_bytes(json_bytes(_configurations().mutated(rng), rng))
    return network if not network.startswith("-") else "pods"


def plugin_answers(rng: Random, folder: Path) -> Invocation:
    """A recording in which plugin outputs are mutated, rarely the rest."""
    command = rng.choice(COMMANDS)
    conflist = _configurations().mutated(rng) if rng.random() < 0.1 else _LIST
    operation = {**_OPERATION, "command": command, "conflist": json.dumps(conflist)}
    is_own = rng.random() < 0.3
    (folder / "operation.json").write_bytes(
        json_bytes(_operations().change(dict(operation), rng) if is_own else operation, rng)
        if is_own
        else json.dumps(operation).encode()
    )
    for number, plugin in enumerate(("bridge", "bridge", "portmap", "portmap"), start=1):
        verb = "VERSION" if number % 2 else command.upper()
        stdout = _answer(rng)
        ended = rng.choice(("exit status 0", "exit status 0", "exit status 1", "signal: killed"))
        recorded: Any = _execution(verb, plugin, stdout, ended)
        if rng.random() < 0.1:
            recorded = _executions().change(recorded, rng)
        (folder / f"{number:04d}-{verb}-{plugin}.json").write_bytes(json.dumps(recorded).encode())
    return Invocation(["cni", command, "--replay", str(folder), *rng.choice(([], ["-o", "json"], ["-q"]))])


def _answer(rng: Random) -> str:
    if rng.random() < 0.1:
        return (
            json.dumps(nested(500, in_lists=True))
            if rng.random() < 0.3
            else rng.choice(("[" * 100_000, '{"a":' * 100_000))
        )
    return json_bytes(_answers().mutated(rng), rng).decode("utf-8", "replace")


def plugin_cache(rng: Random, folder: Path) -> Invocation:
    """The cache of an earlier ADD, for the next CHECK, DEL or GC."""
    (folder / "a.conflist").write_text(json.dumps(_LIST))
    results = folder / "cache" / "results"
    results.mkdir(parents=True)
    entry = {"kind": "cniCacheV1", "containerId": "c1", "config": "e30=", "ifName": "eth0", "networkName": "pods",
    "netns": "/run/ns",
             "cniArgs": [["A", "b"]], "capabilityArgs": {"a": 1}, "result": _RESULT}  # fmt: skip
    (results / "pods-c1-eth0").write_bytes(json_bytes(Mutator([entry]).mutated(rng), rng))
    command = rng.choice(("check", "del", "gc"))
    netns = [] if command == "gc" else ["/run/ns", "--container-id", "c1"]
    _write_plugins(folder, rng, "{}")
    return Invocation(
        [
            "cni",
            command,
            "pods",
            *netns,
            "--conf-dir",
            str(folder),
            "--bin-dir",
            str(folder),
            "--cache-dir",
            str(folder / "cache"),
        ]
    )


def plugin_process(rng: Random, folder: Path) -> Invocation:
    """Real processes with invalid output."""
    (folder / "a.conflist").write_text(json.dumps(_LIST))
    _write_plugins(folder, rng, _answer(rng))
    places = ["--conf-dir", str(folder), "--bin-dir", str(folder), "--cache-dir", str(folder / "cache")]
    return Invocation(["cni", "add", "pods", "/run/ns", *places, "--timeout", "5s"])


def _write_plugins(folder: Path, rng: Random, answer: str) -> None:
    (folder / "answer").write_bytes(answer.encode("utf-8", "replace"))
    for name in ("bridge", "portmap"):
        plugin = folder / name
        plugin.write_text(f"#!/bin/sh\ncat >/dev/null\ncat {folder}/answer\nexit {rng.choice((0, 0, 1))}\n")
        plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)

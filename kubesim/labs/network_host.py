"""The process in which a lab's CNI plugins run: a private host that exists as long as the process. It does not change
the machine.

Reads an exercise from standard input and writes the executions of each step to standard output. Only `network.py`
starts it.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import NetworkConfigList, network_conf_from_bytes
from kubesim.cni.exec.execution_recorder import ExecutionRecorder, Recorded
from kubesim.cni.exec.process import RealExec
from kubesim.cni.libcni import CNIConfig
from kubesim.errors import CniError
from kubesim.linux.namespaces import become_private_host
from kubesim.linux.netns import new_netns, remove_netns

STATE_DIR, NETNS_DIR = "/var/lib/cni", "/var/run/netns"


def main() -> None:
    order = json.load(sys.stdin)
    try:
        become_private_host(STATE_DIR, NETNS_DIR)
    except OSError as error:
        sys.exit(f"{error.strerror} ({error.filename})")
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(_play(order["exercise"], order["binDirs"], folder))))


async def _play(exercise: dict[str, Any], bin_dirs: list[str], folder: str) -> list[dict[str, Any]]:
    own = os.path.join(folder, "own")
    os.makedirs(own)
    _write(own, exercise["plugins"])
    recorder = ExecutionRecorder([own, *bin_dirs], os.path.join(folder, "seen"))
    cni = CNIConfig([recorder.path], RealExec(), os.path.join(STATE_DIR, "cache"))
    network = network_conf_from_bytes(json.dumps(exercise["configuration"]).encode())
    seen = []
    for step in exercise["steps"]:
        if step["replace"]:
            _write(own, step["replace"])
            seen.append({"do": "replace", "say": step["say"]})
            continue
        do, pod = ("add", step["add"]) if step["add"] else ("delete", step["delete"])
        error = await _step(cni, network, do, pod)
        executions = [_execution(entry) for entry in recorder.take()]
        step_seen = {"do": do, "pod": pod, "id": f"sandbox-of-{pod}", "executions": executions, "error": error}
        seen.append({**step_seen, "reserved": _reserved(network.name)})
    return seen


def _write(own: str, plugins: Mapping[str, str]) -> None:
    for name, program in plugins.items():
        path = os.path.join(own, name)
        with open(path, "w") as file:
            file.write(f"#!{sys.executable}\n{program}")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


async def _step(cni: CNIConfig, network: NetworkConfigList, do: str, pod: str) -> str:
    """Run a step. Returns its error; empty if it succeeded."""
    netns = os.path.join(NETNS_DIR, pod)
    runtime = RuntimeConf(f"sandbox-of-{pod}", netns, "eth0")
    try:
        if do == "add":
            new_netns(netns)
            await cni.add_network_list(network, runtime)
        else:
            await cni.del_network_list(network, runtime)
            remove_netns(netns)
    except CniError as error:
        return str(error)
    return ""


def _execution(recorded: Recorded) -> dict[str, Any]:
    try:
        answer = json.loads(recorded.stdout or b"null")
    except ValueError:
        answer = None
    failed = str((answer or {}).get("msg", "it failed")) if recorded.exit else ""
    return {
        "plugin": recorded.plugin,
        "delegated": recorded.delegated,
        "command": recorded.environ.get("CNI_COMMAND", ""),
        "answer": answer,
        "error": failed,
    }


def _reserved(network: str) -> list[str]:
    """The addresses that host-local has reserved, one file each."""
    directory = os.path.join(STATE_DIR, "networks", network)
    names = os.listdir(directory) if os.path.isdir(directory) else []
    return sorted(name for name in names if name[:1].isdigit())


if __name__ == "__main__":
    main()

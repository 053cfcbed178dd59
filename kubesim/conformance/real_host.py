"""Runs cases of `real_chain`: a process becomes an empty host, and executes real plugins.

Reads a case from each line of stdin and writes its answer as a line to stdout.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from kubesim.clock import Randomness
from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes
from kubesim.cni.exec.execution_recorder import ExecutionRecorder, Recorded
from kubesim.cni.exec.process import RealExec
from kubesim.cni.gocni_result import create_result
from kubesim.cni.libcni import CNIConfig, GCArgs, GCAttachment
from kubesim.cni.spec.results import current, plain
from kubesim.conformance.cni_cases import PathNames, error_json
from kubesim.errors import CniError
from kubesim.linux import namespaces, netns

BIN_DIR = "/usr/lib/cni"
STATE_DIR = "/var/lib/cni"

Step = Mapping[str, Any]


class RealHost:
    def __init__(self, case: dict[str, Any], recorder: ExecutionRecorder) -> None:
        self.case = case
        self.recorder = recorder
        path = [recorder.path if entry == "@REC@" else entry for entry in case.get("path") or ["@REC@"]]
        self.cni = CNIConfig(path, RealExec(), STATE_DIR)
        self.network = network_conf_from_bytes(json.dumps(case["conflist"]).encode())
        self.namespaces: dict[str, str] = {}
        self.random = Randomness(0).stream("netns", case.get("id", ""))

    async def run(self) -> list[dict[str, Any]]:
        path_names = PathNames(REC=self.recorder.path)
        hidden: list[dict[str, Any]] = path_names.hide([await self.step(step) for step in self.case["steps"]])
        return hidden

    async def step(self, step: Step) -> dict[str, Any]:
        path = self.netns_path(step.get("netns", ""))
        args = tuple((key, value) for key, value in step.get("args") or ())
        runtime = RuntimeConf(step.get("pod", ""), path, step.get("ifname", ""), args, step.get("capability_args"))
        error, reported = None, {}
        try:
            reported = await self.operate(step, runtime)
        except CniError as problem:
            error = problem
            reported = {"capabilities": None} if step["op"] == "VALIDATE" else {}
        out = {"op": step["op"], "error": error_json(error), "netns_path": path}
        out["executions"] = [_execution(entry) for entry in self.recorder.take()]
        if step["op"] in ("ADD", "DEL", "GC"):
            out["after"] = state(path)
        return out | reported

    def netns_path(self, wanted: str) -> str:
        """The path of a namespace: "new:KEY" creates one, "KEY" refers to it, "path:P" is any path, "" none."""
        if wanted.startswith("path:"):
            return wanted.removeprefix("path:")
        if wanted.startswith("new:"):
            path = os.path.join(netns.MOUNT_DIR, netns.netns_name(self.random.randbytes(16)))
            netns.new_netns(path)
            self.namespaces[wanted.removeprefix("new:")] = path
            return path
        return self.namespaces.get(wanted, "")

    async def operate(self, step: Step, runtime: RuntimeConf) -> dict[str, Any]:
        match step["op"]:
            case "ADD":
                result = await self.cni.add_network_list(self.network, runtime)
                assert result is not None
                now = current(result)
                merged = create_result([now], "eth0").to_json()
                shown, shown_now = plain(result.to_json()), plain(now.to_json())
                return {"result": shown, "result_current": shown_now, "gocni_result": merged}
            case "CHECK":
                await self.cni.check_network_list(self.network, runtime)
            case "DEL":
                await self.cni.del_network_list(self.network, runtime)
            case "GC":
                valid = [GCAttachment(entry["containerID"], entry["ifname"]) for entry in step["valid_attachments"]]
                await self.cni.gc_network_list(self.network, GCArgs(valid))
            case "STATUS":
                await self.cni.get_status_network_list(self.network)
            case "VALIDATE":
                return {"capabilities": sorted(await self.cni.validate_network_list(self.network))}
            case "VERSION":
                return {"supported_versions": list(await self.cni.get_version_info(step["plugin"]))}
            case "SHELL":
                return {"output": _output("sh", "-c", step["shell"])}
            case "NETNS_REMOVE":
                netns.remove_netns(runtime.netns)
        return {}


def _execution(recorded: Recorded) -> dict[str, Any]:
    return {
        "plugin": recorded.plugin,
        "delegated": recorded.delegated,
        "env": {key: value for key, value in recorded.environ.items() if key.startswith("CNI_")},
        "stdin": recorded.stdin.decode(),
        "stdout": recorded.stdout.decode(),
        "stderr": recorded.stderr.decode(),
        "exit": recorded.exit,
        "duration_us": round(recorded.seconds * 1_000_000),
    }


def state(path: str) -> dict[str, Any]:
    """The current state: links, addresses, routes, rules, and files of plugins."""
    links = json.loads(_output("ip", "-j", "link"))
    out: dict[str, Any] = {
        "host_links": [{key: link.get(key) for key in _LINK_FIELDS} for link in links],
        "iptables_nat": _rules("nat"),
        "iptables_filter": _rules("filter"),
        "tc": _shaping(),
        "hostlocal_files": _reservations(),
        "cache_files": "".join(f"{name}\n" for name in _listing(os.path.join(STATE_DIR, "results"))),
    }
    if path and os.path.exists(path):
        for name, what in (("ns_addr", ("addr",)), ("ns_route", ("route",)), ("ns_route6", ("-6", "route"))):
            out[name] = _json_from(path, *what)
    return out


def _json_from(path: str, *what: str) -> Any:
    """The JSON output of `ip` in a namespace, or its error in the recording's format."""
    command = ["nsenter", f"--net={path}", "ip", "-j", *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"{done.stdout}{done.stderr}\n[exit status {done.returncode}]"
    return json.loads(done.stdout or "[]")


_LINK_FIELDS = ("address", "ifname", "master", "mtu", "operstate")


def _rules(table: str) -> str:
    lines = _output("iptables-save", "-t", table).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("#", "*", "COMMIT")))


def _shaping() -> str:
    lines = _output("tc", "qdisc", "show").splitlines(keepends=True)
    found = "".join(line for line in lines if line.split()[1] in ("tbf", "ingress"))
    return found or "\n[exit status 1]"  # the output of the recording's grep


def _reservations() -> str:
    """The files of host-local, with their characters separated."""
    base = os.path.join(STATE_DIR, "networks")
    found = []
    for folder, _, names in os.walk(base):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, newline="") as file:
                content = "".join(f" {_ESCAPED.get(char, char)}" for char in file.read())
            found.append(f"./{os.path.relpath(path, base)}: {content}\n")
    return "".join(sorted(found))


_ESCAPED = {"\r": "\\r", "\n": "\\n"}


def _listing(path: str) -> list[str]:
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def play(line: str) -> str:
    case = json.loads(line)
    with tempfile.TemporaryDirectory() as folder:
        recorder = ExecutionRecorder([BIN_DIR], folder)
        namespaces.become_private_host(STATE_DIR, netns.MOUNT_DIR)
        return json.dumps(asyncio.run(RealHost(case, recorder).run()))


def main() -> None:
    """Fork a process for each case, which ends with everything that it created."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                answer = play(line)
            except BaseException as error:
                answer = json.dumps({"failed": f"{type(error).__name__}: {error}"})
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()

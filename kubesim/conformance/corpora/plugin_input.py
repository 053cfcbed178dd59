"""plugin_input: operations of libcni, go-cni and the CRI plugin, and the plugin executions they cause."""

from __future__ import annotations

import asyncio
import base64
import json
import stat
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import NetworkConfigList, network_conf_from_bytes
from kubesim.cni.gocni import CNI, Namespace, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.cni.libcni import CNIConfig, GCArgs, GCAttachment
from kubesim.cni.pod_network import (
    PodNetworkSettings,
    network_not_ready_message,
    setup_pod_network,
    teardown_pod_network,
)
from kubesim.cni.spec.results import current, plain
from kubesim.conformance.cni_cases import PathNames, ScriptedExec, error_json, fill, judge_either, pod_config
from kubesim.errors import CniError

judge = judge_either
Case = dict[str, Any]
Step = Mapping[str, Any]
Outcome = dict[str, Any]


def play(case: Case) -> list[Outcome]:
    with tempfile.TemporaryDirectory() as base:
        return asyncio.run(_APIS[case["api"]](case, Path(base)).run())


class _Player:
    """Runs the steps on one object with one cache directory."""

    operations: dict[str, str]
    sorted_args = False

    def __init__(self, case: Case, base: Path) -> None:
        self.case = case
        self.exec = ScriptedExec()
        self.cache_dir = base / "cache"
        self.results = self.cache_dir / "results"
        self.bin_dirs = [base / f"bin{n}" for n in range(len(case["bin_dirs"]))]
        bins = {f"BIN{n}": path for n, path in enumerate(self.bin_dirs)}
        self.path_names = PathNames(CACHE=self.cache_dir, CONFDIR=base / "net.d", **bins)
        for path, files in zip(self.bin_dirs, case["bin_dirs"], strict=True):
            _make_binaries(path, files)
        if case.get("cache_files"):
            self.results.mkdir(parents=True, mode=0o700)
        for name, text in (case.get("cache_files") or {}).items():
            (self.results / name).write_text(text)
            (self.results / name).chmod(0o600)

    async def run(self) -> list[Outcome]:
        return [await self._step(step) for step in self.case["steps"]]

    async def _step(self, step: Step) -> Outcome:
        self.exec.script, self.exec.calls = step.get("script") or {}, []
        operation: Callable[[Step], Awaitable[Outcome]] = getattr(self, self.operations[step["op"]])
        error = None
        try:
            reported = await operation(step)
        except CniError as problem:
            reported, error = self.when_failed(step, problem), problem
        out = {"op": step["op"], "error": error_json(error), "calls": self.exec.calls, "cache_after": self._cache()}
        hidden: Outcome = self.path_names.hide(out | reported)
        return hidden

    def when_failed(self, step: Step, error: CniError) -> Outcome:
        return {}

    def _cache(self) -> Outcome:
        """The files of the cache; arguments without a fixed order are sorted."""
        found: Outcome = {}
        for path in sorted(self.results.glob("*")) if self.results.is_dir() else ():
            raw = path.read_text()
            try:
                content = json.loads(raw)
            except ValueError:
                content = None
            if self.sorted_args:
                content["cniArgs"].sort()
                found[path.name] = {"json": content, "cniArgs_sorted": True}
                continue
            found[path.name] = {"json": content, "raw": raw, "mode": f"{stat.S_IMODE(path.stat().st_mode):04o}"}
            if isinstance(content, dict):
                found[path.name]["config_decoded"] = base64.b64decode(content.get("config", "")).decode()
        return found


def _make_binaries(directory: Path, files: Mapping[str, str]) -> None:
    directory.mkdir()
    for name, kind in files.items():
        if kind == "dir":
            (directory / name).mkdir()
        elif kind == "symlink":
            target = directory / f".{name}.target"
            target.touch(0o755)
            (directory / name).symlink_to(target)
        else:
            (directory / name).touch(0o644 if kind == "nonexec" else 0o755)


def _runtime(given: Mapping[str, Any] | None) -> RuntimeConf:
    given = given or {}
    args = tuple((key, value) for key, value in given.get("args") or ())
    return RuntimeConf(
        given.get("container_id", ""),
        given.get("netns", ""),
        given.get("ifname", ""),
        args,
        given.get("capability_args"),
    )


class _Libcni(_Player):
    operations = {
        "ADD": "add",
        "CHECK": "check",
        "DEL": "delete",
        "GC": "gc",
        "STATUS": "status",
        "VERSION": "version",
        "VALIDATE": "validate",
        "CACHED_RESULT": "cached_result",
        "CACHED_CONFIG": "cached_config",
        "ATTACHMENTS": "attachments",
    }

    def __init__(self, case: Case, base: Path) -> None:
        super().__init__(case, base)
        self.cni = CNIConfig([str(path) for path in self.bin_dirs], self.exec, str(self.cache_dir))

    async def _step(self, step: Step) -> Outcome:
        try:
            self.network: NetworkConfigList = network_conf_from_bytes(
                step.get("conflist", self.case["conflist"]).encode("utf-8", "surrogatepass")
            )
        except CniError as error:
            return {"op": step["op"], "conf_error": error_json(error)}
        self.runtime = _runtime(step.get("runtime", self.case["runtime"]))
        return await super()._step(step)

    def when_failed(self, step: Step, error: CniError) -> Outcome:
        if step["op"] == "VALIDATE":
            return {"capabilities": None}
        if step["op"] == "ATTACHMENTS":
            return {"attachments": []}
        return {"result": None} if step["op"] in ("ADD", "CACHED_RESULT") else {}

    async def add(self, step: Step) -> Outcome:
        result = await self.cni.add_network_list(self.network, self.runtime)
        if result is None:
            return {"result": None}
        out = {"result": plain(result.to_json())}
        try:
            return out | {"result_current": plain(current(result).to_json())}
        except CniError:
            return out

    async def check(self, step: Step) -> Outcome:
        await self.cni.check_network_list(self.network, self.runtime)
        return {}

    async def delete(self, step: Step) -> Outcome:
        await self.cni.del_network_list(self.network, self.runtime)
        return {}

    async def gc(self, step: Step) -> Outcome:
        given = step.get("valid_attachments")
        valid = None if given is None else tuple(GCAttachment(a["containerID"], a["ifname"]) for a in given)
        await self.cni.gc_network_list(self.network, None if step.get("nil_gc_args") else GCArgs(valid))
        return {}

    async def status(self, step: Step) -> Outcome:
        await self.cni.get_status_network_list(self.network)
        return {}

    async def version(self, step: Step) -> Outcome:
        return {"supported_versions": list(await self.cni.get_version_info(step["plugin"]))}

    async def validate(self, step: Step) -> Outcome:
        return {"capabilities": sorted(await self.cni.validate_network_list(self.network))}

    async def cached_result(self, step: Step) -> Outcome:
        result = self.cni.get_network_list_cached_result(self.network, self.runtime)
        return {"result": None if result is None else plain(result.to_json())}

    async def cached_config(self, step: Step) -> Outcome:
        found = self.cni.get_network_list_cached_config(self.network, self.runtime)
        if found is None:
            return {}
        config, runtime = found
        return {"config": config.decode(), "runtime": _runtime_json(runtime)}

    async def attachments(self, step: Step) -> Outcome:
        return {
            "attachments": [
                _runtime_json(entry.runtime_conf()) | {"network": entry.network, "config": entry.config.decode()}
                for entry in self.cni.get_cached_attachments(step["filter"])
            ]
        }


def _runtime_json(runtime: RuntimeConf) -> Outcome:
    return {
        "container_id": runtime.container_id,
        "netns": runtime.netns,
        "ifname": runtime.ifname,
        "args": [list(pair) for pair in runtime.args] or None,
        "capability_args": runtime.capability_args,
    }


class _Gocni(_Player):
    operations = {"SETUP": "setup", "REMOVE": "remove", "CHECK": "check", "STATUS": "status"}

    def __init__(self, case: Case, base: Path) -> None:
        super().__init__(case, base)
        conf_dir = base / "net.d"
        fill(conf_dir, case["conf_files"])
        with_lo = case.get("with_lo", not case.get("use_internal_loopback", False))
        settings = NetworkDirectories(
            [str(path) for path in self.bin_dirs],
            str(conf_dir),
            case["max_conf_num"],
            min_networks=2 if with_lo else 1,
            cache_dir=str(self.cache_dir),
        )
        self.cni = CNI(settings, self.exec)
        try:
            self.cni.load_now(*((with_lo_network, with_default_conf) if with_lo else (with_default_conf,)))
        except CniError:
            pass  # the following steps depend on it: it is not initialized

    def sort_calls(self) -> Outcome:
        self.exec.calls.sort(key=lambda call: call["env"]["CNI_IFNAME"])
        return {"calls_sorted_by_ifname": True}

    def namespace(self, step: Step) -> Namespace:
        runtime = _runtime(step.get("runtime", self.case["runtime"]))
        capabilities = runtime.capability_args or {}
        return Namespace(runtime.container_id, runtime.netns, self.case.get("labels") or {}, capabilities)

    async def setup(self, step: Step) -> Outcome:
        setup = self.cni.setup_serially if self.case["serial"] else self.cni.setup
        result = await setup(self.namespace(step))
        order = {} if self.case["serial"] else self.sort_calls()
        return order | {"result": result.to_json(), "raw_results": [plain(raw.to_json()) for raw in result.raw]}

    def when_failed(self, step: Step, error: CniError) -> Outcome:
        return self.sort_calls() if step["op"] == "SETUP" and not self.case["serial"] else {}

    async def remove(self, step: Step) -> Outcome:
        await self.cni.remove(self.namespace(step))
        return {}

    async def check(self, step: Step) -> Outcome:
        await self.cni.check(self.namespace(step))
        return {}

    async def status(self, step: Step) -> Outcome:
        await self.cni.status()
        return {}


class _Cri(_Gocni):
    operations = {"SETUP": "setup", "TEARDOWN": "teardown", "STATUS": "status"}
    sorted_args = True

    def __init__(self, case: Case, base: Path) -> None:
        super().__init__(case, base)
        # The recording of the internal loopback used a real namespace; here none is entered.
        self.netns = "@NETNS@" if case["use_internal_loopback"] else case["netns"]
        self.pod = pod_config(case["pod"])

    async def _step(self, step: Step) -> Outcome:
        self.netns = step.get("netns", self.netns)
        out = await super()._step(step)
        for call in out["calls"]:
            call["ctx_deadline"] = False
            call["env"]["CNI_ARGS"] = ";".join(sorted(call["env"]["CNI_ARGS"].split(";")))
        return out

    async def setup(self, step: Step) -> Outcome:
        settings = PodNetworkSettings(self.case["setup_serially"], self.case["preference"])
        network = await setup_pod_network(self.cni, self.case["sandbox_id"], self.netns, self.pod, settings)
        order = {} if self.case["setup_serially"] else self.sort_calls()
        reported = {"ip": network.ip, "additional_ips": list(network.additional_ips) or None}
        return order | reported | {"cni_result": network.result.to_json()}

    async def teardown(self, step: Step) -> Outcome:
        await teardown_pod_network(self.cni, self.case["sandbox_id"], self.netns, self.pod)
        return {}

    def when_failed(self, step: Step, error: CniError) -> Outcome:
        if step["op"] == "STATUS":
            return {"network_ready_message": network_not_ready_message(error)}
        if step["op"] == "TEARDOWN":
            return {}
        order = {} if self.case["setup_serially"] else self.sort_calls()
        return order | {"ip": "", "additional_ips": None, "cni_result": None}


_APIS: dict[str, type[_Player]] = {"libcni": _Libcni, "gocni": _Gocni, "cri": _Cri}

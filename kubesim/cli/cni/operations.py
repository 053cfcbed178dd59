"""`kubesim cni add|check|del|gc|status|version`: runs one CNI command on a network, and shows its plugin executions."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kubesim.cli.cni.summaries import gc_summary, permission_hint, status_summary
from kubesim.cli.output.terminal import say, warn
from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.directory import load_network_conf
from kubesim.cni.conf.network_lists import NetworkConfigList, network_conf_from_bytes
from kubesim.cni.exec.context import Context, with_timeout
from kubesim.cni.exec.execution_recorder import ExecutionRecorder, Recorded
from kubesim.cni.exec.invoke import PluginExec
from kubesim.cni.exec.process import Execution, RealExec
from kubesim.cni.exec.replay import CACHE, Recording, Replay, execution_json
from kubesim.cni.libcni import CNIConfig, GCArgs, GCAttachment
from kubesim.cni.spec.results import plain
from kubesim.errors import CniError, UsageError
from kubesim.golang.json import dumps, printable_json

CLEAN_UP_S = 60.0  # for the DEL after a killed ADD, as in containerd


class CniSession:
    """One invocation of the command, and the observed plugin executions."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.timeout_s = args.timeout / 1_000_000 if args.timeout else None
        self.executions: list[dict[str, Any]] = []
        self.recording = Recording(args.record) if getattr(args, "record", None) else None
        self.replay = Replay(args.replay, self.observe) if getattr(args, "replay", None) else None
        self.recorder: ExecutionRecorder | None = None

    def observe(self, execution: Execution) -> None:
        if self.recording is not None:
            self.recording.observe(execution)
        if self.recorder is None:
            self.executions.append(execution_json(execution))

    @contextmanager
    def cni(self) -> Iterator[CNIConfig]:
        """libcni on real plugins, on simulated ones, or on a recording."""
        with tempfile.TemporaryDirectory() as folder:
            path, cache_dir = self.args.bin_dir, self.args.cache_dir
            if self.replay is not None:
                cache_dir = folder
                path = self.replay.operation["binDirs"] or path
                recorded = os.path.join(self.replay.directory, CACHE)
                if os.path.isdir(recorded):
                    shutil.copytree(recorded, folder, dirs_exist_ok=True)
            elif getattr(self.args, "delegated", False):
                try:
                    self.recorder = ExecutionRecorder(path, folder)
                except OSError as error:
                    raise UsageError(f"--bin-dir {error.filename}: {error.strerror}") from None
                path = [self.recorder.path]
            exec: PluginExec = self.replay or RealExec(observe=self.observe)
            yield CNIConfig(path, exec, cache_dir)
            if self.recorder is not None:
                self.executions += [_recorded_json(entry) for entry in self.recorder.take()]


def _recorded_json(recorded: Recorded) -> dict[str, Any]:
    how = f"exit status {recorded.exit}" if recorded.exit else ""
    path = os.path.join(recorded.environ.get("CNI_PATH", ""), recorded.plugin)
    shown = execution_json(
        Execution(path, recorded.environ, recorded.stdin, recorded.stdout, recorded.stderr, how, recorded.seconds)
    )
    return shown | {"delegated": recorded.delegated}


def operation(args: argparse.Namespace) -> int:
    session = CniSession(args)
    network = _network(session)
    runtime = _runtime(session)
    perform = _PERFORM[args.cni_command]
    result, error = asyncio.run(_perform(session, network, runtime, perform))
    differing = _differing(session)
    reported = {"executions": session.executions, "result": result, "error": error}
    if error and session.replay is None:
        reported["error"] += permission_hint(error, os.geteuid())
    elif not error and args.cni_command in _SUMMARIES:
        reported["summary"] = _SUMMARIES[args.cni_command](network, session.executions)
    _report(args, reported | ({"differences": differing} if differing else {}))
    return 1 if error or differing else 0


def _network(session: CniSession) -> NetworkConfigList:
    if session.replay is not None:
        try:
            return network_conf_from_bytes(session.replay.operation["conflist"].encode())
        except CniError as error:
            raise UsageError(f"--replay {session.replay.directory}: {error}") from None
    if session.args.network is None:
        raise UsageError(f"kubesim cni {session.args.cni_command} needs a NETWORK")
    try:
        return load_network_conf(session.args.conf_dir, session.args.network)
    except CniError as error:
        raise UsageError(f"{error} (`kubesim cni conf` lists the networks)") from None


def _runtime(session: CniSession) -> RuntimeConf:
    args = session.args
    if session.replay is not None:
        asked = session.replay.operation
        pairs = tuple((key, value) for key, value in asked["args"] or ())
        return RuntimeConf(asked["containerID"], asked["netns"], asked["ifname"], pairs, asked["capabilityArgs"])
    if args.cni_command not in ("add", "check", "del"):
        return RuntimeConf()
    if args.netns is None:
        raise UsageError(f"kubesim cni {args.cni_command} needs a NETNS: a path, or a name in /var/run/netns")
    netns = args.netns if "/" in args.netns or not args.netns else f"/var/run/netns/{args.netns}"
    container_id = args.container_id or f"cnitool-{hashlib.sha512(netns.encode()).hexdigest()[:20]}"
    return RuntimeConf(container_id, netns, args.ifname, _pairs(args.args), _capability_args(args.capability_args))


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for entry in text.split(";") if text else ():
        key, equals, value = entry.partition("=")
        if not equals:
            raise UsageError(f"--args: {entry!r} is not K=V")
        pairs.append((key, value))
    return tuple(pairs)


def _capability_args(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--capability-args: not JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError("--capability-args: must be a JSON object, a value for each capability")
    return given


Perform = Callable[[CNIConfig, NetworkConfigList, RuntimeConf, argparse.Namespace, Context], Awaitable[Any]]


async def _perform(
    session: CniSession, network: NetworkConfigList, runtime: RuntimeConf, perform: Perform
) -> tuple[Any, str]:
    """Result and error of the command. A timed-out ADD is followed by a DEL."""
    with session.cni() as cni, with_timeout(session.timeout_s) as ctx:
        if session.recording is not None:
            session.recording.begin(session.args.cni_command, network, runtime, cni.path, session.args.cache_dir)
        try:
            return await perform(cni, network, runtime, session.args, ctx), ""
        except CniError as error:
            if ctx.problem and session.args.cni_command == "add":
                return None, f"{error} ({ctx.problem}); {await _clean_up(cni, network, runtime)}"
            return None, str(error)


async def _clean_up(cni: CNIConfig, network: NetworkConfigList, runtime: RuntimeConf) -> str:
    with with_timeout(CLEAN_UP_S) as ctx:
        try:
            await cni.del_network_list(network, runtime, ctx)
        except CniError as error:
            return f"cleaning up failed, too: {error}"
    return "cleaned up with DEL"


async def _add(
    cni: CNIConfig, network: NetworkConfigList, runtime: RuntimeConf, args: argparse.Namespace, ctx: Context
) -> Any:
    result = await cni.add_network_list(network, runtime, ctx)
    return None if result is None else plain(result.to_json())


async def _check(
    cni: CNIConfig, network: NetworkConfigList, runtime: RuntimeConf, args: argparse.Namespace, ctx: Context
) -> None:
    await cni.check_network_list(network, runtime, ctx)


async def _del(
    cni: CNIConfig, network: NetworkConfigList, runtime: RuntimeConf, args: argparse.Namespace, ctx: Context
) -> None:
    await cni.del_network_list(network, runtime, ctx)


async def _gc(
    cni: CNIConfig, network: NetworkConfigList, runtime: RuntimeConf, args: argparse.Namespace, ctx: Context
) -> None:
    valid = []
    for entry in args.valid:
        container_id, slash, ifname = entry.partition("/")
        if not slash:
            raise UsageError(f"--valid {entry}: must be ID/IFNAME")
        valid.append(GCAttachment(container_id, ifname))
    await cni.gc_network_list(network, GCArgs(valid), ctx)


async def _status(
    cni: CNIConfig, network: NetworkConfigList, runtime: RuntimeConf, args: argparse.Namespace, ctx: Context
) -> None:
    await cni.get_status_network_list(network, ctx)


_PERFORM: dict[str, Perform] = {"add": _add, "check": _check, "del": _del, "gc": _gc, "status": _status}


_SUMMARIES = {"gc": gc_summary, "status": status_summary}


def version(args: argparse.Namespace) -> int:
    session = CniSession(args)
    return asyncio.run(_version(session))


async def _version(session: CniSession) -> int:
    answers: dict[str, Any] = {}
    failed = False
    with session.cni() as cni, with_timeout(session.timeout_s) as ctx:
        for plugin in session.args.plugins:
            try:
                answers[plugin] = list(await cni.get_version_info(plugin, ctx))
            except CniError as error:
                answers[plugin] = f"error: {error}"
                failed = True
    if session.args.output == "json":
        print(printable_json({"executions": session.executions, "versions": answers}))
    else:
        for plugin, answer in answers.items():
            say(f"{plugin}: {' '.join(answer) if isinstance(answer, list) else answer}")
    return 1 if failed else 0


def _differing(session: CniSession) -> list[str]:
    """Differences between a replay's requests and the recording."""
    if session.replay is None:
        return []
    return [*session.replay.differences, *(f"{name}: not asked for" for name in session.replay.not_asked())]


def _report(args: argparse.Namespace, reported: dict[str, Any]) -> None:
    if args.output == "json":
        print(printable_json(reported))
        return
    if not args.quiet:
        for execution in reported["executions"]:
            say(_shown(execution))
    for line in reported.get("differences", ()):
        say(f"differs: {line}")
    if "summary" in reported:
        say(reported["summary"])
    if reported["result"] is not None:
        print(printable_json(reported["result"], indent=4))
    sys.stdout.flush()
    if reported["error"]:
        warn(f"error: {' '.join(reported['error'].split())}")


def _shown(execution: dict[str, Any]) -> str:
    """A readable plugin execution, with JSON on one line each."""
    indent = "    " if execution.get("delegated") else ""
    command = execution["env"].get("CNI_COMMAND", "")
    lines = [f"{command} {execution['plugin']}  {1000 * execution['seconds']:.1f} ms  {execution['ended']}"]
    lines += [f"    path    {execution['path']}"]
    lines += [f"    env     {name}={value}" for name, value in execution["env"].items()]
    for stream in ("stdin", "stdout", "stderr"):
        text = execution.get(stream) or execution.get(f"{stream}Base64", "")
        if text.strip():
            lines.append(f"    {stream:<7} {_one_line(text)}")
    return "\n".join(indent + line for line in lines) + "\n"


def _one_line(text: str) -> str:
    try:
        return dumps(json.loads(text)) if text.lstrip().startswith(("{", "[")) else text.strip()
    except (ValueError, RecursionError):
        return text.strip()

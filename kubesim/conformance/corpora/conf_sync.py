"""conf_sync: changes of a real configuration directory, and the configurations that the CRI plugin then loads."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubesim.cni.conf.sync import NetConfSyncer
from kubesim.cni.gocni import CNI, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.conformance.cni_cases import PathNames, ScriptedExec
from kubesim.conformance.frame import differences
from kubesim.errors import CniError

Step = Mapping[str, Any]


def play(case: dict[str, Any]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as base:
        return asyncio.run(_play(case, Path(base)))


async def _play(case: dict[str, Any], base: Path) -> list[dict[str, Any]]:
    conf_dir, outside = base / "cni" / "net.d", base / "out"
    outside.mkdir()
    path_names = PathNames(CONFDIR=conf_dir, OUT=outside)
    cni = CNI(NetworkDirectories(conf_dir=str(conf_dir), min_networks=2), ScriptedExec())
    syncer = NetConfSyncer(cni, with_lo_network, with_default_conf)
    try:
        modes = {"dir_mode": _mode(conf_dir), "parent_mode": _mode(conf_dir.parent)}
        out = [{"op": "init", "loads": 1} | modes | _state(cni, syncer)]
        ended = False
        for step in case["steps"]:
            reported: dict[str, Any] = {"op": step["op"]} | _change(step, conf_dir, path_names)
            reaction = {"reloads": 0} if ended else await _react(syncer)
            ended = ended or "loop_ended" in reaction
            out.append(path_names.hide(reported | reaction | _state(cni, syncer)))
        return [path_names.hide(entry) for entry in out]
    finally:
        syncer.close()


def _mode(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def _state(cni: CNI, syncer: NetConfSyncer) -> dict[str, Any]:
    return {
        "networks": [network.config.name for network in cni.networks],
        "lastCNILoadStatus": syncer.last_load_status,
    }


async def _react(syncer: NetConfSyncer) -> dict[str, Any]:
    """Handle queued inotify events. The kernel queues them before the call that makes a change returns."""
    reloads = 0
    try:
        for event in syncer.watch:
            reloads += await syncer.handle(event.mask)
    except CniError as error:
        return {"loop_ended": str(error), "reloads": reloads}
    return {"reloads": reloads}


def _change(step: Step, conf_dir: Path, path_names: PathNames) -> dict[str, Any]:
    path, other = (_where(step[key], conf_dir, path_names) for key in ("a", "b"))
    try:
        _CHANGES[step["op"]](step, path, other)
    except OSError as error:
        return {"op_error": str(error)}
    return {}


def _where(name: str, conf_dir: Path, path_names: PathNames) -> Path:
    return Path(path_names.show(name)) if name.startswith("@") else conf_dir / name


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


_CHANGES: Mapping[str, Any] = {
    "write": lambda step, path, other: path.write_text(step["text"]),
    "create_empty": lambda step, path, other: path.touch(),
    "append": lambda step, path, other: _append(path, step["text"]),
    "rename": lambda step, path, other: path.rename(other),
    "remove": lambda step, path, other: _remove(path),
    "chmod": lambda step, path, other: path.chmod(step["mode"]),
    "chtimes": lambda step, path, other: os.utime(path),
    "mkdir": lambda step, path, other: path.mkdir(),
    "symlink": lambda step, path, other: path.symlink_to(other if step["b"].startswith("@") else step["b"]),
    "link": lambda step, path, other: path.hardlink_to(other),
    "truncate": lambda step, path, other: os.truncate(path, 0),
}


def judge(case: dict[str, Any], expected: list[dict[str, Any]], actual: list[dict[str, Any]]) -> list[str]:
    """The number of notifications for one write varies: events are ignored, and reloads compared as none or some."""
    return list(differences([_settled(step) for step in expected], [_settled(step) for step in actual]))


def _settled(step: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in step.items() if key not in ("fsnotify_events", "op_error")}
    return kept | {"reloads": bool(kept.get("reloads")), "op_error": "op_error" in step}

"""edge: misbehaving plugins, executed for real. A case names the kind of plugin and a timeout."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubesim.clock.wall_timer import WallTimer
from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes
from kubesim.cni.exec.context import Context, with_timeout
from kubesim.cni.exec.process import RealExec
from kubesim.cni.libcni import CNIConfig
from kubesim.cni.spec.results import plain
from kubesim.conformance.cni_cases import PathNames
from kubesim.conformance.frame import NotRunnable, differences
from kubesim.conformance.narrowing import same_outcome_of_busy_plugin
from kubesim.errors import CniError

ANSWER_FIELDS = ("error", "result")

_RESULT = """echo '{"cniVersion": "1.0.0"}'"""
_PLUGINS = {
    "nonexec": f"#!/bin/sh\n{_RESULT}\n",
    "badformat": "\x7fELF, but not really\n",
    "noshebang": f"{_RESULT}\n",
    "badinterp": "#!/no/such/interpreter\n",
    "selfkill": "#!/bin/sh\nkill -9 $$\n",
    "stderronly": "#!/bin/sh\necho hello >&2\nexit 1\n",
    "okstderr": f"#!/bin/sh\necho a remark >&2\n{_RESULT}\n",
    "envdump": "#!/bin/sh\nenv >&2\npwd >&2\nexit 1\n",
    "bgchild": f"#!/bin/sh\nsleep 0.2 &\n{_RESULT}\n",
    "badutf": "#!/bin/sh\nprintf '\\377\\376bad' >&2\nexit 1\n",
    "sleepchild": "#!/bin/sh\nsleep 2\n",
    "sleepexec": "#!/bin/sh\nexec sleep 2\n",
    "busy": f"#!/bin/sh\n{_RESULT}\n",
}
_SECOND = 0.05  # replaces one second of waiting for a busy file


def play(case: dict[str, Any]) -> dict[str, Any]:
    name = "okstderr" if case["case"] == "already-cancelled" else case["case"]
    if name not in _PLUGINS:
        raise NotRunnable(f"no plugin that behaves like {name} is known")
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "edge" / "bin"
        folder.mkdir(parents=True)
        (folder / name).write_text(_PLUGINS[name])
        (folder / name).chmod(0o644 if name == "nonexec" else 0o755)
        out: dict[str, Any] = PathNames(BASE0=base).hide(asyncio.run(_play(case, name, folder)))
        return out


async def _play(case: dict[str, Any], name: str, folder: Path) -> dict[str, Any]:
    exec = RealExec(busy_wait_s=_SECOND, log=lambda remark: None)
    network = network_conf_from_bytes(
        f'{{"cniVersion":"1.0.0","name":"edge","plugins":[{{"type":"{name}"}}]}}'.encode()
    )
    runtime = RuntimeConf("id", "/var/run/netns/none", "eth0")
    timeout_ms = case.get("timeout_ms", 0)
    with _arranged(case, folder / name), with_timeout(timeout_ms / 1000 if timeout_ms else None) as ctx:
        cni = CNIConfig([str(folder)], exec, str(folder.parent / "cache"))
        if case["case"] == "already-cancelled":
            ctx = Context()
            ctx.cancel()
        try:
            if case.get("op") == "DEL":
                await cni.del_network_list(network, runtime, ctx)
                return {"error": None, "result": None}
            result = await cni.add_network_list(network, runtime, ctx)
        except CniError as error:
            return {"error": _without_environment(str(error)), "result": None}
    return {"error": None, "result": None if result is None else plain(result.to_json())}


@contextmanager
def _arranged(case: dict[str, Any], plugin: Path) -> Iterator[None]:
    """Prepare the plugin: a busy file is open for writing for some (shortened) seconds; a program that prints its
    environment gets a large one.
    """
    added = {"CNI_ARGS": "parent", "CNI_OTHER": "other", "MYVAR": "mine"} if case["case"] == "envdump" else {}
    os.environ.update(added)
    busy = re.search(r"busy for ([\d.]+)s", case.get("note", ""))
    timer = None
    if busy:
        writer = plugin.open("a")
        timer = WallTimer(float(busy[1]) * _SECOND, writer.close)
    try:
        yield
    finally:
        if timer is not None:
            timer.close()
            writer.close()
        for name in added:
            del os.environ[name]


def _without_environment(error: str) -> str:
    """An error that contains a whole environment: only required parts are compared."""
    if "MYVAR=mine" not in error:
        return error
    wanted = (
        "CNI_ARGS=\\n",
        "CNI_OTHER=other",
        "CNI_COMMAND=ADD",
        "CNI_CONTAINERID=id",
        "CNI_IFNAME=eth0",
        os.getcwd(),
    )
    missing = [text for text in wanted if text not in error]
    shown = "<go-quoted stderr>" if not missing else f"<an environment without {missing}>"
    return re.sub(r'(?<=netplugin failed: )".*"', lambda _: shown, error, flags=re.DOTALL)


def judge(case: dict[str, Any], expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    if same_outcome_of_busy_plugin(expected, actual):
        return []
    return list(differences({"result": None, **expected}, actual))

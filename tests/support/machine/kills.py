"""Kills kubesim at a random time of a run with real plugins, and finds everything it leaves behind.

A time is a number of steps: lines of the trace, and starts of plugins, IPAM plugins and iptables. Wrappers of these
programs write a line to kubesim's output and then execute the real program.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from kubesim.values import value_object
from tests.support.machine.cni_host import BIN_DIR, STATE_DIR, output
from tests.support.machine.mounts import own_namespace_mounts
from tests.support.processes import children

TIMEOUT_S: Final = 60.0  # for killed processes to end, on a busy machine
_PLUGINS: Final = ("loopback", "bridge", "ptp", "host-local", "portmap", "bandwidth")
_IPTABLES: Final = ("iptables", "ip6tables")
_KEPT: Final = ("lock", "plugins.lock", "runs.json", "net.d/10-kubesim.conflist")  # for the next run with this state
_CHAIN: Final = re.compile(r"^:(CNI-(?:DN-|SN-)?[0-9a-f]{21,24}) ", re.MULTILINE)

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: kills}
spec:
  runtime: cni
  images: [{name: "*", present: true}]
  steps: [{at: 20s, delete: {pod: limited}}]
  duration: 1m
---
apiVersion: v1
kind: Pod
metadata:
  name: limited
  annotations: {kubernetes.io/ingress-bandwidth: 10M, kubernetes.io/egress-bandwidth: 10M}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: "nginx:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: mapped}
spec: {containers: [{name: main, image: "nginx:1", ports: [{containerPort: 80, hostPort: 8000}]}]}
"""

Start = Callable[..., "subprocess.Popen[Any]"]


@value_object
class Kill:
    """Kill after this many steps and a pause. `with_holder`: first kill the process that holds the nodes' or the host's
    namespaces.
    """

    steps: int
    pause_s: float
    by: signal.Signals = signal.SIGKILL
    with_holder: bool = False

    def strike(self, process: subprocess.Popen[Any]) -> None:
        time.sleep(self.pause_s)  # while the next plugin is running
        if self.with_holder:
            for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(pid), self.by)
        process.send_signal(self.by)


def drawn(chance: random.Random, steps: int) -> Kill:
    """A random kill in a run of this many steps. One in ten comes before the first step, while kubesim starts."""
    by = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    with_holder = by == signal.SIGKILL and chance.random() < 0.3
    if chance.random() < 0.1:
        return Kill(0, chance.random() * 0.6, by, with_holder)
    return Kill(chance.randrange(1, steps), chance.random() * 0.02, by, with_holder)


class Ground:
    """Directories for kubesim and its plugins, and the reporting of steps."""

    def __init__(self, folder: Path) -> None:
        self.fifo, self.bin, self.path, self._said = (folder / name for name in ("steps", "bin", "path", "stderr"))
        self.own = [folder / name for name in ("tmp", "home")]
        os.mkfifo(self.fifo)
        for each in (self.bin, self.path, *self.own):
            each.mkdir()
        for each in (self.fifo, *self.own):
            each.chmod(0o777)
        for folder, names in ((self.bin, _PLUGINS), (self.path, _IPTABLES)):
            for name in names:
                real = f"{BIN_DIR}/{name}" if folder == self.bin else shutil.which(name, path="/usr/sbin:/sbin")
                (folder / name).write_text(f'#!/bin/sh\necho >{self.fifo}\nexec {real} "$@"\n')
                (folder / name).chmod(0o755)
        self.environ = {
            "PATH": f"{self.path}:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(self.own[0]),
            "HOME": str(self.own[1]),
        }

    def life(self, start: Start, words: list[str], kill: Kill | None) -> tuple[int, int, str]:
        """Run kubesim until it is killed or exits: exit code, steps and last output."""
        steps, killed = 0, False
        received = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        written = os.open(self.fifo, os.O_WRONLY)
        with open(self._said, "w+") as said:
            process = start(*words, env=self.environ, stdin=subprocess.DEVNULL, stdout=written, stderr=said)
            os.close(written)
            while True:
                if kill is not None and not killed and steps >= kill.steps:
                    kill.strike(process)
                    killed = True
                assert select.select([received], [], [], TIMEOUT_S)[0], f"kubesim does not end: {kill}, {steps} steps"
                read = os.read(received, 65536)
                if not read:
                    break
                steps += read.count(b"\n")
            os.close(received)
            code = process.wait(TIMEOUT_S)
            said.seek(0)
            return code, steps, said.read()

    def files(self) -> list[str]:
        return sorted(str(path) for folder in self.own for path in folder.rglob("*"))


def left_running(others: Collection[int]) -> list[str]:
    """Remaining processes of kubesim, after some time to end. The caller adopts orphans, so they are its children."""
    for _ in range(round(TIMEOUT_S / 0.01)):
        left = children() - {*others}
        if not left:
            return []
        for pid in left:
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
    return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in children() - {*others}]


def left_on_host(state: Path, neighbours: Collection[str]) -> dict[str, list[str]]:
    """What kubesim left on the host, besides a neighbour with these chains. Veths disappear with their namespaces."""
    links = [(link["ifname"], link.get("master", "")) for link in json.loads(output("ip", "-j", "link"))]
    tables = [output(command) for command in ("iptables-save", "ip6tables-save")]
    chains = [name for table in tables for name in _CHAIN.findall(table) if name not in neighbours]
    kept = {str(state / name) for name in _KEPT}
    found = {
        "links": [name for name, master in links if name.startswith(("ks-", "bwp")) or master.startswith("ks-")],
        "namespaces": [path for path in own_namespace_mounts() if "/neighbour-" not in path],
        "chains": chains + [line for table in tables for line in table.splitlines() if "kubesim" in line],
        "addresses and results": [str(path) for path in Path(STATE_DIR).rglob("*kubesim*")],
        "state": [str(path) for path in state.rglob("*") if path.is_file() and str(path) not in kept],
    }
    return {kind: names for kind, names in found.items() if names}

"""Processes for a test's own clients: a cluster (`kubesim up`), or nodes for another API server (`kubesim node`).

The test has their clock in its hand: `advance` simulates five minutes as fast as possible and returns at their end.
"""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

READY_S = 60.0
_END_S = 30.0


class ServedProcess:
    """A process that runs until `stop`. The directory of its socket is short, because Unix addresses are."""

    def __init__(self, *words: str, clock: bool) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="kubesim-")
        self._control = f"{self._directory.name}/clock" if clock else ""
        control = ("--control", self._control) if clock else ()
        command = [sys.executable, "-m", "kubesim", *words, *control]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        if not (select.select([self._process.stdout], [], [], READY_S)[0] and self._process.stdout.readline()):
            self._process.kill()
            problem = self._process.communicate()[1].strip()
            self._directory.cleanup()
            raise RuntimeError(f"kubesim {words[0]} does not start: {problem}")

    def now(self) -> str:
        """The time of the cluster, such as 2026-01-01T00:00:00.000000Z."""
        return str(self._clock("now")["now"])

    def advance(self, duration: str) -> str:
        """Simulate a duration such as 5m; returns the time at its end."""
        return str(self._clock("advance", duration=duration)["now"])

    def pause(self) -> None:
        """Stop time until `resume`; `advance` still works."""
        self._clock("pause")

    def resume(self) -> None:
        self._clock("resume")

    def set_speed(self, speed: float) -> None:
        """From now on, let this many seconds pass in each real second."""
        self._clock("speed", speed=speed)

    def _clock(self, command: str, **arguments: Any) -> dict[str, Any]:
        from kubesim.up.control.client import control_clock

        assert self._control, "started with clock=False"
        return control_clock(self._control, command, **arguments)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        with contextlib.suppress(OSError):
            self._directory.cleanup()


class ServedCluster(ServedProcess):
    """A cluster. `kubeconfig` is a file; it exists from the start."""

    def __init__(self, kubeconfig: Path, *options: str, clock: bool = True) -> None:
        self.kubeconfig = str(kubeconfig)
        super().__init__("up", "--kubeconfig", self.kubeconfig, *options, clock=clock)


class ServedNodes(ServedProcess):
    """Nodes for the API server of a kubeconfig, registered from the start."""

    def __init__(self, kubeconfig: str, *options: str, clock: bool = True) -> None:
        super().__init__("node", "--kubeconfig", kubeconfig, "--allow-writes", *options, clock=clock)

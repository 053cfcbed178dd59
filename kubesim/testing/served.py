"""A cluster for a test's own clients: `kubesim up` in a process, and its kubeconfig."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

READY_S = 60.0
_END_S = 30.0


class ServedCluster:
    """The cluster, running until `stop`. `kubeconfig` is a file."""

    def __init__(self, kubeconfig: Path, *options: str) -> None:
        self.kubeconfig = str(kubeconfig)
        words = [sys.executable, "-m", "kubesim", "up", "--kubeconfig", self.kubeconfig, *options]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        select.select([self._process.stdout], [], [], READY_S)
        if not kubeconfig.exists():
            self._process.kill()
            raise RuntimeError(f"kubesim up does not start: {self._process.communicate()[1].strip()}")

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

"""`kubesim up` in its own process, and real kubectl."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.processes import start
from tools.kubectl import kubectl

TIMEOUT_S = 60  # for actions that take a second on an idle machine
_POLL_S = 0.05


class Up:
    """A running cluster. `program` is the kubectl executable."""

    def __init__(self, process: subprocess.Popen[str], kubeconfig: Path) -> None:
        self.process = process
        self.kubeconfig = kubeconfig
        self.program = kubectl("1.36")

    def command(self, *words: str, version: str = "1.36") -> list[str]:
        """The command line of kubectl, without garbage collection: a quarter of the CPU time of so short a run."""
        cache = str(self.kubeconfig.parent / "cache")
        return [
            "env",
            "GOGC=off",
            str(kubectl(version)),
            "--kubeconfig",
            str(self.kubeconfig),
            "--cache-dir",
            cache,
            *words,
        ]

    def run(
        self, *words: str, version: str = "1.36", input: str = "", cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl to its end."""
        return subprocess.run(
            self.command(*words, version=version),
            input=input,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            cwd=cwd,
        )

    def kubectl(self, *words: str, version: str = "1.36", input: str = "") -> str:
        """The output of kubectl, which must succeed."""
        done = self.run(*words, version=version, input=input)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def get(self, *words: str) -> Any:
        return json.loads(self.kubectl("get", "-o", "json", *words))

    def create_raw(self, path: str, body: dict[str, Any]) -> None:
        """Create an object at a path of the API."""
        self.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(body))

    def run_pod(self, name: str, *command: str, image: str = "busybox") -> None:
        """Create a pod with this command, and wait until it is ready."""
        self.kubectl("run", name, f"--image={image}", *(("--", *command) if command else ()))
        self.wait_for_pod(name)

    def wait_for_pod(self, name: str) -> None:
        self.wait_for(lambda: is_ready(self.get("pod", name)), f"pod {name} to be ready")

    def wait_for(self, holds: Callable[[], bool], what: str) -> None:
        wait_until(holds, what)

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        """Stop the cluster; returns exit code and output."""
        self.process.send_signal(number)
        out, error = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, error


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {TIMEOUT_S} s for {what}"
        time.sleep(_POLL_S)


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def start_up(directory: Path, *words: str) -> Up:
    """Start the cluster; returns when its kubeconfig exists."""
    kubeconfig = directory / "kubeconfig"
    process = start("up", "--kubeconfig", str(kubeconfig), *words)

    def is_up() -> bool:
        assert process.poll() is None, process.communicate()
        return kubeconfig.exists()

    wait_until(is_up, "kubesim up")
    return Up(process, kubeconfig)


@contextmanager
def running_up(directory: Path, *words: str) -> Iterator[Up]:
    up = start_up(directory, *words)
    try:
        yield up
    finally:
        if up.process.poll() is None:
            up.process.kill()
            up.process.communicate()


@contextmanager
def running_nodes(up: Up, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run `kubesim node` for this cluster, registered from the start of the block."""
    process = start("node", "--kubeconfig", str(up.kubeconfig), "--allow-writes", *words)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("kubesim: registered "), process.communicate()
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_S)

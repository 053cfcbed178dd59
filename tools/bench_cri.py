"""`make bench` of CRI: calls through `kubesim cri serve`, and lives of pods whose runtime is behind a socket."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from kubesim.clock.stopwatch import Stopwatch
from tests.support.cri_process import connected, running
from tests.support.processes import kubesim
from tools.process_costs import child_seconds, cpu_seconds

CALLS, CLIENTS = 4000, 4
FEW, MANY, LIFE_S = 2, 32, 20
SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: lives}}
spec:
  images: [{{name: "*", present: true}}]
  duration: {duration}s
  steps:
{steps}
"""
STEP = "    - {{at: {at}s, delete: {{pod: pod-{number}}}}}\n"
POD = """---
apiVersion: v1
kind: Pod
metadata: {{name: pod-{number}}}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers: [{{name: main, image: "registry.k8s.io/e2e-test-images/busybox:1.29-2", command: [sleep, "1000"]}}]
"""


def calls(line: Callable[[str, str], None]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        socket = Path(directory) / "cri.sock"
        with running(socket, "serve") as process:
            seconds, cpu = asyncio.run(_call(socket, process.pid))
    line(f"CRI calls through the server, {CLIENTS} at once", f"{CALLS / seconds:.0f}/s")
    line("... per second of the server's CPU time", f"{CALLS / cpu:.0f}/s")


async def _call(socket: Path, pid: int) -> tuple[float, float]:
    async with connected(socket) as client:
        container = await client.run(await client.sandbox(), "sleep", "1000")
        numbers, watch, before = iter(range(CALLS)), Stopwatch(), cpu_seconds(pid)

        async def ask() -> None:
            for _ in numbers:
                await client.status(container)

        await asyncio.gather(*(ask() for _ in range(CLIENTS)))
        return watch.seconds(), cpu_seconds(pid) - before


def lives(line: Callable[[str, str], None]) -> None:
    """In real time, as a life over a socket takes it; CPU time of all processes."""
    wire, alone = (
        (_cpu(MANY, over_socket=over) - _cpu(FEW, over_socket=over)) / (MANY - FEW) for over in (True, False)
    )
    line("a pod's life over CRI, client and server", f"{1000 * wire:.0f} ms CPU")
    line("... to one with the runtime in the process, in real time too", f"{wire / alone:.1f}x")


def _cpu(pods: int, *, over_socket: bool) -> float:
    steps = "".join(STEP.format(at=LIFE_S // 2, number=number) for number in range(pods))
    text = SCENARIO.format(duration=LIFE_S, steps=steps) + "".join(POD.format(number=number) for number in range(pods))
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        file, socket, spent = Path(directory) / "lives.yaml", Path(directory) / "cri.sock", 0.0
        file.write_text(text)
        options = ["--speed", "1"]
        if over_socket:
            images = Path(directory) / "images.yaml"
            images.write_text(SCENARIO.format(duration=LIFE_S, steps="    []"))
            server = stack.enter_context(running(socket, "serve", "--scenario", str(images)))
            options = ["--runtime", "cri", "--cri-endpoint", f"unix://{socket}", "--cri-state", f"{directory}/state"]
            spent = -cpu_seconds(server.pid)
        spent += child_seconds(kubesim("run", str(file), "--quiet", *options))
        if over_socket:
            spent += cpu_seconds(server.pid)
            server.send_signal(signal.SIGINT)
            server.communicate()
        return spent

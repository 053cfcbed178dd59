"""`make bench` of `kubesim attach`: 5,000 pods on one node, over loopback HTTP, in real time."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.shadow.shadow import ShadowReport
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.clock import LoopClock, Randomness
from kubesim.clock.stopwatch import Stopwatch
from kubesim.cluster.remote.access import Access, FixedAccess
from kubesim.cluster.remote.http_transport import HttpTransport
from kubesim.concurrency import TaskSet
from tests.support.attach.pods import pod, running, waiting
from tests.support.cluster.served import served_cluster

PODS, CHANGES, NODE = 5000, 1000, "node-a"
PROGRAM = "import sys; from tools.bench_attach import attached; attached(sys.argv[1])"


class Waits:
    """Times from a change in the cluster to its explanation."""

    def __init__(self) -> None:
        self.changed_at: dict[str, Stopwatch] = {}
        self.seconds: list[float] = []

    def reported(self, report: ShadowReport) -> None:
        statement = report.statement
        watch = self.changed_at.pop(statement.name, None) if statement is not None else None
        if watch is not None:
            self.seconds.append(watch.seconds())

    def diverged(self, divergence: object) -> None: ...

    def problem(self, text: str) -> None:
        print(text, file=sys.stderr)


def attached(address: str) -> None:
    """Runs in its own process, so that only the agent's memory counts. A line on stdout requests a change."""

    async def main() -> None:
        clock, waits = LoopClock(), Waits()
        begun = Stopwatch()
        transport = HttpTransport(FixedAccess(Access(address)), clock)
        agent = NodeFollower(clock, transport, NODE, waits)
        async with TaskSet() as tasks:
            agent.start(tasks, Randomness(1))

            async def measure() -> None:
                while not agent.has_listed("Pod", "Node", "Event"):
                    await clock.sleep(5 * MILLISECOND)
                print(f"start {begun.seconds():.2f} {len(agent.shadow.pods)}", flush=True)
                for number in range(CHANGES):
                    name = f"pod-{number}"
                    waits.changed_at[name] = Stopwatch()
                    print(f"change {name}", flush=True)
                    while name in waits.changed_at:
                        await clock.sleep(MILLISECOND // 2)
                await clock.sleep(1 * SECOND)

            await tasks.run_until(measure())
        await transport.close()
        took = sorted(waits.seconds)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"done {took[len(took) * 99 // 100]:.4f} {memory:.0f}", flush=True)

    asyncio.run(main())


def figures() -> tuple[float, float, float]:
    """Seconds until everything is listed, seconds until an Event is explained (99th percentile), megabytes."""
    with served_cluster(history_limit=20_000) as cluster:
        kinds = (pod(running()), pod(waiting("ImagePullBackOff")))

        def fill() -> None:
            for number in range(PODS):
                made = kinds[number % 2]
                meta = made.metadata.changed(name=f"pod-{number}", uid=f"uid-{number}")
                cluster.store.create(made.changed(metadata=meta, spec=made.spec.changed(node_name=NODE)))

        def change(name: str) -> None:
            found = cluster.store.get("Pod", "shop", name)
            assert isinstance(found, Pod)
            cluster.store.replace(found.changed(metadata=found.metadata.changed(labels={"seen": "1"})))

        cluster.call(fill)
        command = [sys.executable, "-c", PROGRAM, cluster.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            start = slowest = memory = 0.0
            for line in process.stdout:
                word, *rest = line.split()
                if word == "start":
                    start = float(rest[0])
                    assert int(rest[1]) == PODS
                elif word == "change":
                    cluster.call(change, rest[0])
                else:
                    slowest, memory = float(rest[0]), float(rest[1])
        return start, slowest, memory


if __name__ == "__main__":
    begun, slowest, memory = figures()
    print(f"attached to {PODS} pods: {begun:.1f} s until all is known, 99 % of events explained within "
          f"{slowest * 1000:.1f} ms, {memory:.0f} MB")  # fmt: skip

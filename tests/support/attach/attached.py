"""An attached agent over HTTP in virtual time: a served cluster with a scripted node, observed by kubesim's kubelet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND, format_time
from kubesim.app import Simulation
from kubesim.attach.agent.comparison import Comparison
from kubesim.attach.agent.live_node import AttachedNode, read_node
from kubesim.attach.agent.node_scenario import node_scenario
from kubesim.attach.agent.verdict import PodVerdict
from kubesim.clock import LoopClock
from kubesim.cluster.registry.bootstrap import bootstrap
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.remote.access import Access, FixedAccess
from kubesim.cluster.remote.http_transport import HttpTransport
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.served.rest import Request, Response
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.trace import MemorySink
from tests.support.socket_loop import run_with_sockets

NODE = "node-a"
Json = dict[str, Any]


class RecordingServer(ClusterServer):
    """Records method and path of every request."""

    def __init__(self, store: Store, clock: LoopClock) -> None:
        super().__init__(store, clock)
        self.asked: list[tuple[str, str]] = []

    async def _answer(self, request: Request) -> Response:
        self.asked.append((request.method, request.path))
        return await super()._answer(request)


class RealNode:
    """A real node at its API server; the test writes the kubelet's statuses."""

    def __init__(self, store: Store, clock: LoopClock) -> None:
        self.store = store
        self.clock = clock

    def create(self, name: str, **spec: Any) -> Pod:
        container = {"name": "main", "image": "nginx:1.27", **spec.pop("container", {})}
        whole = {"nodeName": NODE, "containers": [container], "terminationGracePeriodSeconds": 30, **spec}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole}
        made = create(self.store, Target(RESOURCES["Pod"], "default"), body)
        assert isinstance(made, Pod)
        return made

    def pod(self, name: str) -> Pod:
        found = self.store.get("Pod", "default", name)
        assert isinstance(found, Pod)
        return found

    def status(self, name: str, phase: str, container: Json, *, ready: bool = False) -> None:
        pod = self.pod(name)
        reported = {
            "name": "main",
            "ready": ready,
            "restartCount": 0,
            "image": "nginx:1.27",
            "imageID": "",
            **container,
        }
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        value = {"phase": phase, "conditions": conditions, "containerStatuses": [reported]}
        status = PodStatus.from_json({**value, "qosClass": pod.status.qos_class})
        self.store.write(pod, pod.changed(status=status))

    def runs(self, name: str, *, restarts: int = 0, ready: bool = True, last: Json | None = None) -> None:
        state = {"running": {"startedAt": format_time(self.clock.now())}}
        reported = {"state": state, "started": True, "restartCount": restarts}
        self.status(name, "Running", reported | ({"lastState": last} if last else {}), ready=ready)

    def ended(self, code: int, ran_s: int) -> Json:
        """The state of a container that has just terminated."""
        begin, end = self.clock.now() - ran_s * SECOND, self.clock.now()
        times = {"startedAt": format_time(begin), "finishedAt": format_time(end)}
        return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", **times}}


class Attached:
    """`real` is the scripted node, `trace` that of kubesim's kubelet, `comparison` the result."""

    def __init__(
        self, real: RealNode, live: AttachedNode, simulation: Simulation, comparison: Comparison, trace: MemorySink
    ) -> None:
        self.real = real
        self.live = live
        self.simulation = simulation
        self.comparison = comparison
        self.trace = trace

    def ours(self, name: str) -> Pod | None:
        found = self.simulation.store.find("Pod", "default", name)
        return found if isinstance(found, Pod) else None

    def verdict(self, name: str) -> PodVerdict:
        return next(row.verdict for row in self.comparison.rows() if row.pod == f"default/{name}")

    async def sleep(self, seconds: float) -> None:
        await self.real.clock.sleep(round(seconds * SECOND))


def attached(
    play: Callable[[Attached], Awaitable[None]],
    before: Callable[[RealNode], None] = lambda real: None,
    **options: bool,
) -> list[tuple[str, str]]:
    """Run a test while the agent is attached; returns all requests to the API server."""

    async def main() -> list[tuple[str, str]]:
        clock = LoopClock()
        uids = iter(range(1, 10_000))
        store = Store(clock.now, lambda: f"00000000-0000-4000-8000-{next(uids):012d}")
        bootstrap(store)
        create(store, Target(RESOURCES["Node"]), {"metadata": {"name": NODE}})
        server = RecordingServer(store, clock)
        await server.start()
        transport = HttpTransport(FixedAccess(Access(server.address)), clock)
        real, trace, comparison = RealNode(store, clock), MemorySink(), Comparison()
        before(real)
        try:
            node = await read_node(transport, NODE)
            async with TaskSet() as tasks:
                live = AttachedNode(transport, NODE, **options)
                live.followers.append(comparison)
                simulation = Simulation(node_scenario(NODE, node), 0, tasks, (trace,), live=live, start=None)
                comparison.attach(simulation.store, simulation.recorder, simulation.clock.elapsed)
                simulation.begin_attached()

                async def run() -> None:
                    await play(Attached(real, live, simulation, comparison, trace))
                    await simulation.close()

                await tasks.run_until(run())
        finally:
            await transport.close()
            await server.close()
        return server.asked

    return run_with_sockets(main)

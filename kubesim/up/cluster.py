"""The cluster of `kubesim up`: a simulation whose API server accepts clients until it is stopped.

A scenario runs as in `kubesim run`: its objects at the start, its steps and faults at their times. The run has no end
of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation, with_real_parts
from kubesim.clock import NEVER, run_virtual
from kubesim.clock.real_clock import RealClock
from kubesim.clock.wall import chance_seed, unique_name, wall_now
from kubesim.cluster.registry.bootstrap import bootstrap
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.registry.services.kubernetes_service import create_kubernetes_service
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from kubesim.kubelet.server import Serving
from kubesim.scenario.ending.result import RunInterrupted, RunResult
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.runtimes.paced import LEAD, RealParts, started
from kubesim.trace import Sink
from kubesim.up.beside import BesideStore
from kubesim.up.control.server import JUMPS, controlled
from kubesim.up.identity import kubeconfig, make_identity, new_token_key, write_private
from kubesim.up.state import StateLog
from kubesim.values import value_object

RECONCILED = 10 * SECOND
PROGRESS = SECOND // 2


@value_object
class UpSettings:
    """Settings of the cluster. `duration` is microseconds of real time; None: until it is stopped. `ready` is called
    with the address, and `on_progress` twice a second with the virtual time of the nodes in microseconds."""

    host: str
    port: int
    kubeconfig: Path
    ready: Callable[[str], None]
    speed: float = 1.0
    duration: int | None = None
    seed: int | None = None
    state: Path | None = None
    serving: Serving | None = None
    on_progress: Callable[[int], None] | None = None
    control: Path | None = None  # a Unix socket for commands about the clock

    @property
    def fastest(self) -> float:
        """The limits of connections that asyncio counts in virtual time are for this speed."""
        return self.speed if self.control is None else max(self.speed, JUMPS)


class ServedSimulation(Simulation):
    """A simulation that creates the objects of a fresh cluster before the first request."""

    def make_store(self) -> Store:
        store = super().make_store()
        bootstrap(store)
        store.watch("Service", self._service_changed)
        return store

    def _service_changed(self, event: WatchEvent) -> None:
        """Recreate the kubernetes Service: the API server checks it every 10 s."""
        metadata = event.object.metadata
        if event.type == "DELETED" and (metadata.namespace, metadata.name) == ("default", "kubernetes"):
            self.clock.call_at(self.clock.now() + RECONCILED, create_kubernetes_service, self.store)


def publish_client_ca(store: Store, certificate: str) -> None:
    """Publish the certificate with which the API server connects to kubelets, as the API server does with its client
    CA."""
    name = ("ConfigMap", "kube-system", "extension-apiserver-authentication")
    if store.find(*name) is not None:
        store.remove(*name)  # from before a restart
    body = {"metadata": {"name": name[2]}, "data": {"client-ca-file": certificate}}
    create(store, Target(RESOURCES["ConfigMap"], "kube-system"), body)


def run_up(scenario: Scenario, settings: UpSettings, sinks: Sequence[Sink] = ()) -> RunResult:
    """Serve for the duration. Raises UsageError, and RunInterrupted when a signal ends it."""
    stopped: list[RunResult] = []

    def play(real: RealParts) -> RunResult:
        try:
            return run_virtual(_serve, scenario, settings, sinks, real, stopped)
        except KeyboardInterrupt:
            if not stopped:
                raise
            return stopped[0]

    result = with_real_parts(scenario.spec, "", settings.speed, play)
    if result.interrupted:
        raise RunInterrupted(result)
    return result


async def _serve(
    scenario: Scenario,
    settings: UpSettings,
    sinks: Sequence[Sink],
    real: RealParts,
    stopped: list[RunResult],
) -> RunResult:
    plugin = real.plugin
    if plugin is not None and plugin.real_time and settings.control is not None:
        raise UsageError(f"--control: real containers of runtime {scenario.spec.runtime} run in real time")
    length = NEVER // 2 if settings.duration is None else round(settings.duration * settings.speed)
    endless = {"duration": length, "scheduler": scenario.spec.scheduler or "on"}
    scenario = scenario.model_copy(update={"spec": scenario.spec.model_copy(update=endless)})
    seed = chance_seed() if settings.seed is None else settings.seed
    identity, token = make_identity([settings.host]), unique_name(16)
    state = None if settings.state is None else StateLog(settings.state)
    start = wall_now() - LEAD if state is None else max(wall_now() - LEAD, state.found.time)
    async with started(plugin), TaskSet() as tasks:
        end_on_internal_errors(tasks)
        serving = settings.serving
        simulation = ServedSimulation(
            scenario, seed, tasks, sinks, real=real, start=start, measured=serving is not None
        )
        simulation.store.token_key = new_token_key() if state is None else state.token_key()
        if state is not None:
            state.failed = tasks.fail
            state.bring_back(simulation.store)
            state.follow(simulation.store)
        await simulation.come_up(settings.speed)
        clock = RealClock(simulation.clock)
        publish_client_ca(simulation.store, identity.certificate)
        beside = BesideStore(simulation, clock, identity.client_tls(), state)
        server = ClusterServer(
            simulation.store, clock, tokens=(token,), tls=identity.server_tls(), beside=beside, speed=settings.fastest
        )
        await server.start(settings.host, settings.port)
        text = kubeconfig(server.address, identity.certificate, token)
        try:
            async with controlled(settings.control, simulation.clock):
                with _published(settings.kubeconfig, text):
                    settings.ready(server.address)
                    if serving is not None:
                        await serving.start(tasks, simulation.kubelets, simulation.clock.now, simulation.measured)
                    if settings.on_progress is not None:
                        tasks.start("progress", _report(simulation, clock, settings.on_progress))
                    result: RunResult = await tasks.run_until(simulation.play())
                    if serving is not None:
                        await serving.end()
        finally:
            if simulation.result_so_far is not None:
                stopped.append(simulation.result_so_far)
            await server.close()
            if state is not None:
                state.close()
        return result


async def _report(simulation: Simulation, clock: RealClock, on_progress: Callable[[int], None]) -> None:
    while True:
        await clock.sleep(PROGRESS)
        on_progress(simulation.clock.elapsed())


@contextmanager
def _published(path: Path, text: str) -> Iterator[None]:
    """The kubeconfig is there during the block; afterwards it is removed, unless it has been changed."""
    write_private(path, text)
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_text() == text:
                path.unlink()


def end_on_internal_errors(tasks: TaskSet) -> None:
    """Let an internal error end the cluster; an error of a connection ends only the connection."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None or "transport" in context or "protocol" in context:
            return
        tasks.fail(error)

    asyncio.get_running_loop().set_exception_handler(handle)

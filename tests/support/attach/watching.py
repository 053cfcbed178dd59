"""An attached agent and a simulated cluster in virtual time, over a transport with faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from kubesim.app import Simulation
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.shadow.shadow import ShadowReport
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.clock import Randomness, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenario
from tests.support.sources.faulty_api import DirectTransport, Fault, FaultyTransport

SCENARIOS = Path(__file__).parents[3] / "scenarios"


class Notes:
    """A viewer that records what it is shown."""

    def __init__(self) -> None:
        self.reports: list[ShadowReport] = []
        self.divergences: list[Divergence] = []
        self.problems: list[str] = []

    def reported(self, report: ShadowReport) -> None:
        self.reports.append(report)

    def diverged(self, divergence: Divergence) -> None:
        self.divergences.append(divergence)

    def problem(self, text: str) -> None:
        self.problems.append(text)


class Watching:
    """`agent` watches the first node of `simulation`; `calls` are all requests to the API server."""

    def __init__(self, simulation: Simulation, tasks: TaskSet, faults: Sequence[Fault] = (), **options: Any) -> None:
        self.simulation, self.tasks, self.notes = simulation, tasks, Notes()
        self.direct = DirectTransport(simulation.store, simulation.clock)
        transport = FaultyTransport(self.direct, simulation.clock, faults, Fault())
        node = next(iter(simulation.nodes))
        self.agent = NodeFollower(simulation.clock, transport, node, self.notes, **options)
        self.agent.start(tasks, Randomness(1))


def scenario(name: str) -> Scenario:
    return load_scenario(str(SCENARIOS / f"{name}.yaml"))


def watched(
    played: Scenario,
    faults: Sequence[Fault] = (),
    during: Callable[[Watching], Awaitable[None]] | None = None,
    until: int | None = None,
    **options: Any,
) -> Watching:
    """Run a scenario while an agent watches its first node."""

    async def main() -> Watching:
        async with TaskSet() as tasks:
            simulation = Simulation(played, 0, tasks)
            watching = Watching(simulation, tasks, faults, **options)
            reported = during and tasks.start("during", during(watching))  # type: ignore[arg-type]
            await tasks.run_until(simulation.run(until))
            assert reported is None or reported.done(), (
                "the run ended before everything was done that is done during it"
            )
            return watching

    return run_virtual(main)

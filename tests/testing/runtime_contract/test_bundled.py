"""The contract of `Runtime`, for the simulated runtime and for the one with real pod networks."""

from __future__ import annotations

from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.runtime.containerd.cni_nodes import CniNodes
from kubesim.runtime.containerd.cni_settings import CniSettings, NodePlan
from kubesim.runtime.network.real_network import RealNetwork
from kubesim.runtime.simulated.containers.programs import Programs
from kubesim.runtime.simulated.network import SimulatedNetwork
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.settings import ImageBehaviour, SimulatedSettings
from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.testing.runtime_contract import RuntimeContract, Subject
from kubesim.testing.runtime_contract.contract import Check
from kubesim.trace import Recorder

IMAGE, MISSING = "busybox:1", "nowhere.example/missing:1"
SETTINGS = SimulatedSettings(images={IMAGE: ImageBehaviour(present=True), MISSING: ImageBehaviour(missing="not found")})
PLAN = NodePlan("node-1", ("10.0.0.1/16", "fd00:10::1/64"), ("10.88.0.0/24", "fd00:10:88::/64"))


def programs(clock: LoopClock, network: SimulatedNetwork) -> Programs:
    volumes = NodeVolumes(clock.now)
    return Programs(clock, Randomness(1), Recorder(clock), network, volumes, node="node-1", host_ip="10.0.0.1")


class TestSimulated(RuntimeContract):
    def play(self, check: Check) -> None:
        async def main() -> None:
            clock = LoopClock()
            made = programs(clock, SimulatedNetwork(clock))
            await check(Subject(SimulatedRuntime(clock, Randomness(1), made, SETTINGS), clock, IMAGE, MISSING))

        run_virtual(main)


class TestCni(RuntimeContract):
    """Sandboxes with real networks in a private node."""

    def play(self, check: Check) -> None:
        real = CniNodes(CniSettings(), [PLAN])

        async def main() -> None:
            clock = LoopClock()
            node = real.nodes[0]
            made = programs(clock, RealNetwork(clock, node.node, real.silences))
            runtime = node.runtime(clock, Randomness(1), made, SETTINGS, Recorder(clock))
            subject = Subject(runtime, clock, IMAGE, MISSING)
            try:
                await check(subject)
            finally:
                await subject.clean_up()
                runtime.close()

        try:
            run_virtual(main)
        finally:
            real.close()

"""Runtime `processes` keeps the contract of the kubelet's calls."""

from process_runtime import ProcessRuntime

from kubesim.clock import LoopClock, run_virtual
from kubesim.testing.runtime_contract import RuntimeContract, Subject


class TestProcesses(RuntimeContract):
    has_container_events = False

    def play(self, check):
        async def main():
            clock = LoopClock()
            clock.begin(1.0)  # real time
            subject = Subject(ProcessRuntime(clock), clock, "host", "nowhere.example/missing:1")
            try:
                await check(subject)
            finally:
                await subject.clean_up()

        run_virtual(main)

"""The contract of `Runtime`, for real containerds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.wall import wall_now
from kubesim.runtime.cri.client.cgroups import remove_group
from kubesim.runtime.cri.client.host import CriNodeHost
from kubesim.runtime.cri.client.labels import Owner
from kubesim.runtime.cri.client.machine import read_machine
from kubesim.runtime.cri.client.runtime import CriRuntime
from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls
from kubesim.testing.runtime_contract import RuntimeContract, Subject, containers
from kubesim.testing.runtime_contract.contract import Check
from tests.support.machine.containerd import IMAGE, Containerd
from tests.support.soak import SOAK


class OnContainerd:
    """Plays checks with a client of a real containerd."""

    real: Containerd
    directory: Path

    @pytest.fixture(autouse=True)
    def _containerd(self, containerd: Containerd, tmp_path: Path) -> Iterator[None]:
        self.real, self.directory = containerd, tmp_path
        yield
        assert remove_group(self.group) == []

    @property
    def group(self) -> str:
        return f"/kubesim-contract-{self.real.process.pid}"

    def play(self, check: Check) -> None:
        owner = Owner(self.directory.name, str(self.directory), "node-1")
        host = CriNodeHost(str(self.directory), read_machine(), lambda uid, name, path: "", f"{self.group}/node-1")

        async def main() -> None:
            clock = LoopClock(wall_now())
            clock.begin(1.0)
            calls = GrpcCalls(self.real.socket)
            subject = Subject(CriRuntime(calls, owner, host), clock, IMAGE, "127.0.0.1:9/no/such:1")
            try:
                await check(subject)
            finally:
                await subject.clean_up()
                await calls.close()

        run_virtual(main)


class TestContainerd(OnContainerd, RuntimeContract):
    """containerd 1.6, which has no container events."""

    has_container_events = False


class OnNewContainerd(OnContainerd):
    """containerd 2.1."""

    @pytest.fixture
    def containerd(self, new_containerd: Containerd) -> Containerd:
        return new_containerd


class TestNewContainerd(OnNewContainerd):
    """What differs from 1.6. The long tests play the whole contract."""

    def test_container_events_follow_the_lifecycle(self) -> None:
        self.play(containers.events)

    def test_a_container_is_created_runs_and_exits_with_its_code(self) -> None:
        self.play(containers.life)


if SOAK:

    class TestContractOfNewContainerd(OnNewContainerd, RuntimeContract):
        pass

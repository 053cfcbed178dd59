"""The contract of `Runtime`, for our client in front of our server, in virtual time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.clock import run_virtual
from kubesim.runtime.cri.client.host import CriNodeHost
from kubesim.runtime.cri.client.labels import Owner
from kubesim.runtime.cri.client.machine import MachineFacts
from kubesim.runtime.cri.client.runtime import CriRuntime
from kubesim.testing.runtime_contract import RuntimeContract, Subject
from kubesim.testing.runtime_contract.contract import Check
from tests.support.cri_node import BUSYBOX, served

MISSING = "registry.test/missing:1"
SPEC = {"images": [{"name": MISSING, "missing": "not found"}, {"name": "*", "present": True}]}


class TestServed(RuntimeContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.directory = str(tmp_path)

    def play(self, check: Check) -> None:
        owner = Owner("contract", self.directory, "node-1")
        host = CriNodeHost(self.directory, MachineFacts(memory=1 << 30), lambda uid, name, path: "")

        async def main() -> None:
            async with served(SPEC) as client:
                await client.pull()
                subject = Subject(CriRuntime(client.calls, owner, host), client.clock, BUSYBOX, MISSING)
                await check(subject)
                await subject.clean_up()

        run_virtual(main)

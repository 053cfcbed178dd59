"""Runtime `served`: the kubelets of a run drive our CRI server with our CRI client, in virtual time.

The calls are recorded as `kubesim cri record` records them. Its state is below the directory of the scenario's `cri`.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.clock import LoopClock, Randomness, go
from kubesim.runtime.cri.client.files.volumes import RealVolumes
from kubesim.runtime.cri.client.host import CriNodeHost
from kubesim.runtime.cri.client.labels import Owner
from kubesim.runtime.cri.client.leaks.cleaning import remove_sandboxes
from kubesim.runtime.cri.client.logs.following import LogFollower
from kubesim.runtime.cri.client.logs.log_files import RealLogDirectory, RealLogFiles
from kubesim.runtime.cri.client.machine import MachineFacts
from kubesim.runtime.cri.client.runtime import CriRuntime
from kubesim.runtime.cri.record.recording import RecordedCall, RecordingWriter, read_recording
from kubesim.runtime.cri.record.redaction import shown
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.service import CriService
from kubesim.runtime.cri.server.streaming.requests import StreamRequests
from kubesim.runtime.cri.wire.in_process import InProcess
from kubesim.runtime.cri.wire.methods import Calls, CriError
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.language.document import Spec
from kubesim.scenario.load.loader import load_scenario
from kubesim.scenario.runtimes import finding
from kubesim.scenario.runtimes.plugin import NodeSetting, NodeSupplies, RuntimePlugin
from kubesim.trace import Recorder
from kubesim.up.cri.served_node import NodeMaker, ServedParts
from kubesim.values import part

NAME = "served"
_ID = "id"  # of the run


@part
class RecordedCalls:
    """Implements `Calls` in front of other ones."""

    calls: Calls
    writer: RecordingWriter

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        number = self.writer.call(name, shown(request))
        try:
            response = await self.calls.call(name, request, timeout)
        except CriError as error:
            self.writer.returned(number, error.code, error=error.text)
            raise
        except asyncio.CancelledError:
            self.writer.returned(number, "Canceled")
            raise
        self.writer.returned(number, "OK", shown(response))
        return response

    def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        return self.calls.stream(name, request)


class ServedPlugin(RuntimePlugin):
    """`last` is that of the newest run."""

    last: ServedPlugin

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._spec = spec
        self.recording = io.StringIO()
        self._served: list[ServedNode] = []
        self._followers: list[LogFollower] = []
        self._calls: list[Calls] = []
        ServedPlugin.last = self

    def disturbed(self, calls: Calls, clock: LoopClock) -> Calls:
        """What a test puts between the client and the server."""
        return calls

    def node(self, setting: NodeSetting) -> NodeSupplies:
        clock = setting.clock
        own = Recorder(clock)  # the kubelet traces its calls itself
        maker = NodeMaker(self._spec, ServedParts(clock, setting.randomness, own, setting.tasks))
        served, _ = maker.node()
        self._served.append(served)
        writer = RecordingWriter(self.recording, clock.elapsed)
        writer.header("unix:///a", "unix:///b")
        service = CriService(served, StreamRequests(clock, Randomness(2).stream("tokens")), maker.amounts)
        calls = RecordedCalls(InProcess(self.disturbed(service, clock), clock), writer)
        self._calls.append(calls)
        directory = os.path.join(self._spec.cri.state, setting.name)
        volumes = RealVolumes(directory, os.path.join(self._spec.cri.state, "shared"))
        host = CriNodeHost(directory, MachineFacts(memory=8 << 30), volumes.find)
        runtime = CriRuntime(calls, Owner(_ID, self._spec.cri.state, setting.name), host)

        if (output := setting.output) is not None:
            follower = LogFollower(clock, host.logs, partial(output.wrote, setting.name))
            self._followers.append(follower)
            setting.tasks.start("logs", follower.run())

        async def kill(identifier: str, number: int, is_sandbox: bool) -> None:
            process = served.simulated.find(identifier).process
            assert process is not None
            assert not is_sandbox
            process.signal(number)

        def reopen(log: str) -> None:
            go(runtime.reopen_log(log), "reopen")

        return NodeSupplies(
            runtime,
            network=served.programs.programs.network,
            volumes=volumes,
            log_files=RealLogFiles(host.logs, reopen),
            logs=RealLogDirectory(host.logs),
            kill=kill,
            log_file=runtime.log_file,
        )

    async def stop(self) -> None:
        for calls in self._calls:
            assert await remove_sandboxes(calls, _ID) == []
        for follower in self._followers:
            follower.close()
        for served in self._served:
            served.close()


def play(path: Path, state: Path, patch: pytest.MonkeyPatch) -> tuple[RunResult, list[RecordedCall]]:
    """The result of a scenario over CRI, and the calls."""
    entry = EntryPoint(NAME, "tests.support.cri_plugin:ServedPlugin", finding.GROUP)
    patch.setattr(finding, "installed", lambda: {NAME: entry})
    scenario = load_scenario(str(path)).with_runtime(NAME, {}, {"state": str(state)})
    result = run_scenario(scenario)
    lines = io.StringIO(ServedPlugin.last.recording.getvalue())
    return result, read_recording(lines, "the recording")

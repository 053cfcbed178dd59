"""`kubesim attach --record`: the content of the file, and a replay that reports the same as the live run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation
from kubesim.attach.replay.recorder import RecordingTransport
from kubesim.attach.replay.recording import read_recording
from kubesim.attach.replay.recording_file import RecordingFile
from kubesim.attach.replay.redacted import redacted
from kubesim.attach.replay.replay import Tally, replay
from kubesim.attach.shadow.divergence import Divergence
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.clock import Randomness, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from tests.support.attach.watching import Notes, scenario
from tests.support.sources.faulty_api import DirectTransport, Fault, FaultyTransport


class Received:
    """Hears a replay."""

    def __init__(self) -> None:
        self.divergences: list[str] = []

    def follows(self, begin: int, end: int) -> None:
        """One follower is enough here."""

    def diverged(self, divergence: Divergence, excused: bool) -> None:
        self.divergences.append(divergence.says)

    def problem(self, text: str) -> None:
        """A gap of the recording."""


def recorded(path: Path, name: str, faults: list[Fault], until: int) -> NodeFollower:
    """Follow a scenario's node over a simulated API server in virtual time, and record it."""

    async def follow() -> NodeFollower:
        async with TaskSet() as tasks:
            simulation = Simulation(scenario(name), 0, tasks)
            clock = simulation.clock
            faulty = FaultyTransport(DirectTransport(simulation.store, clock), clock, faults, Fault())
            node = next(iter(simulation.nodes))
            transport = RecordingTransport(faulty, RecordingFile(str(path)), clock, node)
            follower = NodeFollower(clock, transport, node, Notes())
            follower.start(tasks, Randomness(1))
            await tasks.run_until(simulation.run(until))
            await transport.close()
            return follower

    return run_virtual(follow)


def messages(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    return [json.loads(line) for line in (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines()]


def kept(live: NodeFollower) -> int:
    return sum(count for (_, outcome), count in live.shadow.outcomes.items() if outcome == "kept")


@pytest.mark.parametrize("file", ["node.jsonl", "node.jsonl.gz"])
def test_a_replay_reports_the_same_as_the_live_run(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    live = recorded(path, "crashloop", [], 120 * SECOND)
    received = Received()
    tally: Tally = replay(read_recording(str(path)), received)
    assert received.divergences == []
    assert kept(live) - 1 <= tally.kept <= kept(live)  # the first list is complete when the replay begins
    assert tally.kept >= 4
    found = messages(path)
    assert set(found[0]) == {"t", "header"}
    assert found[0]["header"]["node"] == live.node_name
    assert found[-1]["action"] == "end"
    firsts = {m["kind"]: m["type"] for m in reversed(found) if "kind" in m}
    assert firsts == dict.fromkeys(("Pod", "Event", "Node", "Lease"), "LIST")
    assert [m["t"] for m in found] == sorted(m["t"] for m in found)


@pytest.mark.parametrize("kind", ["refuse", "reset", "gone", "close", "cut", "stall", "nonsense", "status"])
def test_a_replay_has_the_gaps_that_the_follower_had(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "node.jsonl.gz"
    live = recorded(path, "crashloop", [Fault(kind, at=3)] * 25, 120 * SECOND)  # type: ignore[arg-type]
    received = Received()
    tally = replay(read_recording(str(path)), received)
    assert live.divergence_count == 0
    assert received.divergences == []
    assert tally.statements > 0
    assert {m["type"] for m in messages(path) if "kind" in m} & {"BROKEN", "ERROR"}


def test_values_that_may_be_secret_are_not_written() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": "web",
            "managedFields": [{"manager": "secret-1"}],
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "secret-2",
                "kubernetes.io/config.hash": "0123456789abcdef0123456789abcdef",
                "kubernetes.io/config.mirror": "secret-3",
            },
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "env": [
                        {"name": "PASSWORD", "value": "secret-4"},
                        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}},
                    ],
                    "livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "A", "value": "secret-5"}]}},
                    "lifecycle": {"preStop": {"httpGet": {"httpHeaders": [{"name": "A", "value": "secret-6"}]}}},
                }
            ],
            "initContainers": [{"name": "init", "env": [{"name": "P", "value": "secret-7"}]}],
            "ephemeralContainers": [{"name": "debug", "env": [{"name": "P", "value": "secret-8"}]}],
        },
    }
    before = json.dumps(pod)
    out = redacted(pod)
    assert "secret-" not in json.dumps(out)
    assert json.dumps(pod) == before
    assert out["metadata"]["annotations"]["kubernetes.io/config.hash"] == "0123456789abcdef0123456789abcdef"
    main, *_ = out["spec"]["containers"]
    assert [one["name"] for one in main["env"]] == ["PASSWORD", "KEY"]
    assert main["env"][1]["valueFrom"]["secretKeyRef"] == {"name": "keys", "key": "a"}
    event = {
        "kind": "Event",
        "message": "Get https://user:secret@host/: 401",
        "status": {"a": [{"message": "Bearer secret"}]},
    }
    assert "secret" not in json.dumps(redacted(event))
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "secret"}, "stringData": {"b": "secret"}}
    assert "secret" not in json.dumps(redacted(secret))
    node = {"kind": "Node", "status": {"nodeInfo": {"machineID": "ab-12", "kubeletVersion": "v1.36.4"}}}
    assert redacted(node)["status"]["nodeInfo"] == {"machineID": "00-00", "kubeletVersion": "v1.36.4"}


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
def test_the_file_is_complete_after_every_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    file = RecordingFile(str(path))
    for number in range(200):
        file.write({"t": number, "note": "x" * (number * 37 % 1000), "odd": "\ud800"})
        found = messages(path)
        assert len(found) == number + 1
        assert found[-1]["t"] == number
    file.close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--record .*: No such file or directory"):
        RecordingFile(str(tmp_path / "missing" / "r.jsonl"))
    with pytest.raises(UsageError, match="--record /dev/full: No space left on device"):
        RecordingFile("/dev/full").write({"t": 1})

"""`kubesim attach` with the stepper: with the agent, with a watch-only agent, and on a recording."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.cli.main import main
from tests.support.attach.pods import pod, running
from tests.support.cluster.kubeconfig import kubeconfig
from tests.support.cluster.served import served_cluster
from tests.support.step_terminal import StepTerminal

RECORDING = "tests/attach/data/node.jsonl.gz"


@pytest.fixture
def attach(tmp_path: Path) -> Iterator[list[str]]:
    with served_cluster() as served:
        web = pod(running(), metadata={"name": "web", "uid": ""}, spec={"nodeName": "node-a"})
        served.call(served.store.create, web)
        yield ["attach", "--node", "node-a", "--kubeconfig", kubeconfig(tmp_path / "config", served.address, {})]


def test_the_view_with_the_agent_closes_when_the_time_is_over(attach: list[str]) -> None:
    with StepTerminal([*attach, "--agent", "--tui", "--for", "2s"]) as terminal:
        terminal.until("the agent of node-a")
        assert terminal.ended() == 0
        terminal.until("real against agent, 1 pods")


def test_the_view_of_a_watch_stays_open_until_it_is_closed(attach: list[str]) -> None:
    with StepTerminal([*attach, "--tui"]) as terminal:
        terminal.until("node-a, seen from outside")
        terminal.press("^/shop\r")
        terminal.until("patch pods/status")
        terminal.press("q")
        assert terminal.ended() == 0


def test_a_recording_is_stepped_through(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("f pod=market/no-image\n/ImagePullBackOff\nw\nq\n"))
    assert main(["attach", "--replay", RECORDING, "--step"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("real-0, seen from outside")
    assert "only pod=market/no-image" in out
    assert "A failed pull is retried after 10 s" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--node", "a", "--step"], "--step needs --agent or --replay"),
        (["--node", "a", "--tui"], "--tui needs a terminal"),
        (["--node", "a", "--tui", "--once"], "--tui cannot be combined with --once"),
        (["--node", "a", "--agent", "--tui", "-o", "json"], "--tui cannot be combined with --output"),
        (["--replay", RECORDING, "--step", "-o", "jsonl"], "--step cannot be combined with --output"),
        (["--replay", RECORDING, "--step", "--every", "10s"], "--every replays several times"),
    ],
)
def test_flags_that_exclude_each_other(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", *arguments]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert problem in said.err

"""Progress of a long run, on a terminal and elsewhere."""

from __future__ import annotations

import asyncio
import io

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.cli.progress import run_progress
from kubesim.cli.progress.run_progress import RunProgress
from kubesim.clock import LoopClock, run_virtual
from kubesim.clock.loop.virtual import VirtualLoop
from kubesim.trace.records import ApiWrite, EventRecorded

HOUR = 3600 * 1_000_000


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The wall clock shows the last of these values."""
    shown = [0.0]
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(run_progress, "Stopwatch", type("Clock", (), {"seconds": lambda self: shown[-1]}))
    return shown


def test_a_terminal_view_that_moves_down_below_the_output(seconds: list[float]) -> None:
    out = _Terminal()
    progress = RunProgress(out, quiet=True)
    progress.begin(4 * HOUR, None)
    progress.advance(HOUR // 2)
    assert out.getvalue() == ""  # a short run shows nothing
    seconds.append(2.0)
    status = {"phase": "Running", "containers": {"main": {"state": "waiting/CrashLoopBackOff"}}}
    progress.record(
        ApiWrite(pod="default/web", uid="1", verb="patch", resource="pods/status", by="kubelet", summary=status)
    )
    progress.record(
        EventRecorded(pod="default/web", t=1500, type="Warning", reason="BackOff", message="\x1b[2J" + "x" * 80)
    )
    progress.advance(HOUR)
    assert out.getvalue().split("\n") == [
        "[##........] 1h0m0s on the node of 4h0m0s (25.0%) in 2s, about 6s left",
        "pods: 1 CrashLoopBackOff; 2 records, 1 warning; stop with Ctrl-C",
        "0.002s web Warning BackOff: \\x1b[2J" + "x" * 43 + "…",  # one line of a terminal of 80 columns
    ]
    shown = len(out.getvalue())
    progress.advance(HOUR)
    assert len(out.getvalue()) == shown  # not more often than is readable
    print("event", file=progress.above(out))
    assert out.getvalue()[shown:] == "\r\x1b[K\x1b[A\r\x1b[K\x1b[A\r\x1b[Kevent\n"


def test_plain_lines_at_intervals_without_a_terminal(seconds: list[float]) -> None:
    out = io.StringIO()
    progress = RunProgress(out)
    assert progress.above(out) is out
    for second in range(0, 70, 5):
        seconds.append(float(second))
        progress.advance(second * HOUR)
    progress.clear()
    assert out.getvalue().splitlines() == [
        "kubesim: 30h0m0s on the node in 30s; 0 records, 0 warnings; stop with Ctrl-C",
        "kubesim: 60h0m0s on the node in 1m0s; 0 records, 0 warnings; stop with Ctrl-C",
    ]


def test_a_quiet_run_prints_no_plain_lines(seconds: list[float]) -> None:
    out = io.StringIO()
    progress = RunProgress(out, quiet=True)
    seconds.append(60.0)
    progress.advance(HOUR)
    assert out.getvalue() == ""


def test_a_paced_run_reports_its_progress_while_idle() -> None:
    async def main() -> list[int]:
        clock, found = LoopClock(), []
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.on_progress = lambda: found.append(clock.elapsed())
        loop.pace(1000)
        await clock.sleep(1300 * SECOND)
        return found

    found = run_virtual(main)
    assert found == sorted(found)
    assert [moment for moment in found if 0 < moment < 1300 * SECOND]

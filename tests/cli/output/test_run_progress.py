"""How far a long run is, on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest

from kubesim.cli.output import run_progress
from kubesim.cli.output.run_progress import RunProgress

HOUR = 3600 * 1_000_000


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the wall clock shows is the last of these."""
    shown = [0.0]
    monkeypatch.setattr(run_progress, "Stopwatch", type("Clock", (), {"seconds": lambda self: shown[-1]}))
    return shown


def test_a_line_on_the_terminal_that_gives_way_to_what_is_printed(seconds: list[float]) -> None:
    out = _Terminal()
    progress = RunProgress(out)
    progress.begin(4 * HOUR)
    progress.advance(HOUR // 2)
    assert out.getvalue() == ""  # a short run shows nothing
    seconds.append(2.0)
    progress.advance(HOUR)
    shown = "\r\x1b[K1h0m0s on the node of 4h0m0s (25.0%) in 2s; stop with Ctrl-C"
    assert out.getvalue() == shown
    progress.advance(HOUR)
    assert out.getvalue() == shown  # not more often than anybody can read
    print("event", file=progress.above(out))
    assert out.getvalue() == shown + "\r\x1b[Kevent\n"


def test_plain_lines_now_and_then_where_there_is_no_terminal(seconds: list[float]) -> None:
    out = io.StringIO()
    progress = RunProgress(out)
    assert progress.above(out) is out
    for second in range(0, 70, 5):
        seconds.append(float(second))
        progress.advance(second * HOUR)
    progress.clear()
    assert out.getvalue().splitlines() == [
        "kubesim: 30h0m0s on the node in 30s; stop with Ctrl-C",
        "kubesim: 60h0m0s on the node in 1m0s; stop with Ctrl-C",
    ]

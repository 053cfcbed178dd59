"""`kubesim attach --replay FILE`: prints each divergence, a table of predictions, and a summary."""

from __future__ import annotations

import argparse
import sys

from kubesim.attach.replay.recording import NodeRecording, read_recording
from kubesim.attach.replay.replay import (
    divergence_line,
    last_line,
    moment,
    observed,
    predictions_table,
    replay,
)
from kubesim.attach.shadow.divergence import Divergence
from kubesim.cli.flags import node_periods, options
from kubesim.errors import UsageError
from kubesim.golang.json import printable_json
from kubesim.golang.text import printable

EXIT_DIVERGED = 3


def replay_file(args: argparse.Namespace, output: str) -> int:
    """Replay a recording. Returns 3 if there was a divergence."""
    recording = read_recording(args.replay)
    late_by, interval = args.late_by or 0, args.every or 0
    if late_by and recording.begin + late_by >= recording.end:
        raise UsageError(
            f"--from: {args.replay} is shorter than that: it ends {_length(recording)} after its first lists"
        )
    if options.stepping_flag(args):
        if interval:
            raise UsageError("--every replays several times: remove it to step through one replay")
        from kubesim.cli.tui.opening import step_through

        records = observed(recording, late_by, node_periods.from_file(args))
        step_through(records, f"{recording.node}, seen from outside", observed=True)
        return 0
    view = _Lines(recording) if output == "jsonl" else _Text(recording, several=bool(interval))
    tally = replay(recording, view, late_by, interval, node_periods.from_file(args))
    if output == "jsonl":
        outcomes = [{"due": due, "outcome": how, "count": n} for (due, how), n in sorted(tally.outcomes.items())]
        counts = {"divergences": tally.divergences, "kept": tally.kept, "statements": tally.statements}
        print(printable_json({"type": "summary", **counts, "predictions": outcomes}))
    else:
        print("\n".join(predictions_table(tally)))
    print(last_line(tally), flush=True)
    return EXIT_DIVERGED if tally.divergences else 0


def _length(recording: NodeRecording) -> str:
    from kubesim.api.timestamps import SECOND
    from kubesim.golang.text import duration

    return duration((recording.end - recording.begin) // SECOND * SECOND)


class _Text:
    def __init__(self, recording: NodeRecording, several: bool) -> None:
        self._recording = recording
        self._several = several

    def follows(self, begin: int, end: int) -> None:
        if self._several:
            print(f"-- a follower from {moment(begin, self._recording)} to {moment(end, self._recording)}")

    def diverged(self, divergence: Divergence, excused: bool) -> None:
        print(printable(divergence_line(divergence, self._recording, excused)), flush=True)

    def problem(self, text: str) -> None:
        """Gaps in the recording are no problem of the current version."""


class _Lines(_Text):
    def __init__(self, recording: NodeRecording) -> None:
        super().__init__(recording, several=False)

    def diverged(self, divergence: Divergence, excused: bool) -> None:
        print(printable_json({"type": "divergence", **divergence.to_json(), "counted": not excused}), flush=True)

    def problem(self, text: str) -> None:
        print(f"kubesim: {printable(text)}", file=sys.stderr, flush=True)

"""`kubesim run -o svg|mermaid|perfetto`: a run as a picture, as sequence diagrams, or as a file for
https://ui.perfetto.dev.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import BinaryIO, TextIO

from kubesim.cli.pictures.network import NetworkDrawing
from kubesim.cluster.saved.history import ObjectChange
from kubesim.cluster.saved.observer import RunObserver
from kubesim.cluster.saved.pod_summary import shown_pod
from kubesim.cluster.store.store import Store
from kubesim.errors import UsageError
from kubesim.golang.text import duration, printable
from kubesim.scenario.ending.result import RunResult
from kubesim.trace import Record
from kubesim.trace.lanes.bands import LaneSink
from kubesim.trace.perfetto.encode import encoded
from kubesim.trace.perfetto.tracks import TrackSink
from kubesim.trace.pictures.sequence import SequenceSink, as_markdown
from kubesim.trace.pictures.timeline import Timeline


class SvgReport:
    """One picture: the lanes of the pods, and the real networks of the nodes."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def begin(self, file: str, *, nodes: bool = False) -> None:
        self._lanes = LaneSink(sees_objects=True)

    def follow_store(self, store: Store) -> None:
        RunObserver(self).follow_store(store)

    def change(self, change: ObjectChange) -> None:
        if change.object["kind"] == "Pod":
            self._lanes.show(change.t, *shown_pod(change))

    def record(self, record: Record) -> None:
        self._lanes.record(record)

    def end(self, result: RunResult) -> None:
        span = duration(round(result.duration, -5))
        title = f"{result.scenario}, seed {result.seed}: {span} on the node"
        timeline = Timeline(title, self._lanes.pods(result.duration), result.duration)
        drawing = NetworkDrawing(result.networks)
        self._out.write(timeline.svg(drawing.elements, drawing.height))

    def close(self) -> None:
        self._out.flush()


class MermaidReport:
    """Markdown with one sequence diagram for each pod."""

    def __init__(self, out: TextIO, *, several: bool) -> None:
        self._out, self._several = out, several

    def begin(self, file: str, *, nodes: bool = False) -> None:
        self._sink = SequenceSink()
        if self._several:
            self._out.write(f"# {printable(file)}\n\n")

    def record(self, record: Record) -> None:
        self._sink.record(record)

    def end(self, result: RunResult) -> None:
        self._out.write(as_markdown(self._sink.diagrams()))

    def close(self) -> None:
        self._out.flush()


def check_perfetto(out: TextIO) -> None:
    if find_spec("perfetto") is None:
        raise UsageError("-o perfetto needs the Python package perfetto: pip install perfetto")
    if out.isatty():
        raise UsageError("-o perfetto writes bytes: redirect them to a file, for example > run.pftrace")


class PerfettoReport:
    """A Perfetto trace, written at the end of the run."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def begin(self, file: str, *, nodes: bool = False) -> None:
        self._tracks = TrackSink()

    def record(self, record: Record) -> None:
        self._tracks.record(record)

    def end(self, result: RunResult) -> None:
        self._out.write(encoded(self._tracks.spans()))

    def close(self) -> None:
        self._out.flush()

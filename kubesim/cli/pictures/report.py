"""The page of `--report`: collects the data of a run and writes the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesim import __version__
from kubesim.cli.output.report import summary
from kubesim.cli.pictures.network import NetworkDrawing
from kubesim.cluster.saved.history import ObjectChange
from kubesim.cluster.saved.lines import RunHeader
from kubesim.cluster.saved.observer import RunObserver
from kubesim.cluster.saved.pod_summary import shown_pod
from kubesim.cluster.saved.rows import RowTimeline
from kubesim.runtime.containerd.cni_settings import NetworkPicture
from kubesim.scenario.ending.result import RunResult
from kubesim.trace import Record, Sink
from kubesim.trace.pictures.svg import escaped
from kubesim.trace.pictures.timeline import WIDTH
from kubesim.trace.report.data import RunDataSink, run_data
from kubesim.trace.report.mark import Mark
from kubesim.trace.report.page_file import page

_BAD = ("FAILED: ", "VIOLATED: ", "DEADLOCK: ")
_MOST_LINES, _MOST_FAILED = 5, 3


class ReportedRun:
    """Collects the data of a run, and follows its objects; pass its `sinks` to the run."""

    def __init__(self, header: RunHeader, label: str = "") -> None:
        self._header, self._label = header, label
        self._rows, self._data = RowTimeline(header.start), RunDataSink(sees_objects=True)
        self._observer = RunObserver(self)

    def sinks(self) -> tuple[Sink, ...]:
        return self._data, self._observer

    def record(self, record: Record) -> None:
        """Ignored: records are part of the data already."""

    def change(self, change: ObjectChange) -> None:
        self._rows.change(change)
        if change.object["kind"] == "Pod":
            self._data.show_pod(change.t, *shown_pod(change))

    def data(self, end: int) -> dict[str, Any]:
        return {**self._about(), **self._data.data(end), "tables": self._rows.data()}

    def empty_data(self) -> dict[str, Any]:
        """The data before the first record, for a page that polls for the rest."""
        return {**self._about(), **run_data([]), "tables": []}

    def since(self, mark: Mark) -> tuple[dict[str, Any], Mark]:
        """The data added since a mark, and the new mark."""
        added = {**self._data.since(mark, self.elapsed()), "from": mark.t, "tables": self._rows.since(mark.t)}
        return added, self._data.mark(max(self._data.seen_t, self._rows.t))

    def elapsed(self) -> int:
        return max(self._observer.elapsed(), self._data.seen_t)

    def _about(self) -> dict[str, Any]:
        header = self._header
        return {"label": self._label or header.scenario, "profile": header.profile, "nodes": list(header.nodes)}


def title_of(header: RunHeader) -> str:
    return f"{header.scenario}, seed {header.seed}, kubelet {header.profile}"


def write_report(path: str, run: ReportedRun, header: RunHeader, result: RunResult) -> None:
    title = title_of(header)
    data = page_data(title, outcome_of(summary(result)), [run.data(result.duration)])
    write(path, page(f"{title}: kubesim report", data, drawing(result.networks)))


def outcome_of(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The summary lines that fit on the page: failures, counts, pods."""
    *about, counted = lines
    failed = [line for line in about if any(bad in line for bad in _BAD)]
    chosen = [*failed[:_MOST_FAILED], counted, *(line for line in about if line not in failed)][:_MOST_LINES]
    return [{"text": line, "failed": line in failed} for line in chosen]


def write_attached_report(path: str, run: ReportedRun, header: RunHeader, lines: Sequence[str]) -> None:
    """Write the report of a run beside a real kubelet, with the comparison."""
    title = f"kubelet {header.profile} next to that of {', '.join(header.nodes)}"
    outcome = [{"text": line, "failed": False} for line in lines[:4]]
    write(path, page(f"{title}: kubesim report", page_data(title, outcome, [run.data(run.elapsed())])))


def write_comparison(
    path: str, title: str, runs: Sequence[dict[str, Any]], lines: Sequence[str], first: Sequence[int]
) -> None:
    """Write two runs side by side. `first` are the numbers of the first differing records, or 0."""
    data = page_data(title, [], runs, lines, first)
    write(path, page(f"{title}: kubesim diff", data))


def saved_data(label: str, records: Sequence[Record]) -> dict[str, Any]:
    """The data of a saved trace, which has no objects."""
    nodes = list(dict.fromkeys(record.node for record in records if record.node))
    return {"label": label, "profile": "", "nodes": nodes, **run_data(records), "tables": []}


def page_data(
    title: str,
    outcome: Sequence[dict[str, Any]],
    runs: Sequence[dict[str, Any]],
    difference: Sequence[str] = (),
    first: Sequence[int] = (),
) -> dict[str, Any]:
    about = {"kubesim": __version__, "title": title, "outcome": list(outcome)}
    return {**about, "difference": list(difference), "first": list(first) or None, "runs": list(runs)}


def drawing(pictures: Sequence[NetworkPicture]) -> str:
    """The networks as SVG without style, which the page provides."""
    drawn = NetworkDrawing(pictures)
    if not drawn.elements:
        return ""
    names = escaped(", ".join(picture.node for picture in pictures))
    size = f"0 0 {WIDTH} {drawn.height:g}"
    begin = f'<svg class="network-drawing" viewBox="{size}" role="img" aria-label="Network of {names}">'
    return "\n".join([begin, *drawn.elements, "</svg>"])


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)

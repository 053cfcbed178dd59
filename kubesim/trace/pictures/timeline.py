"""A run as one SVG picture: a group of lanes for each pod under a common time axis, and the Events as marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesim.golang.text import duration
from kubesim.trace.lanes.axis import ticks
from kubesim.trace.lanes.bands import Lane, PodLanes
from kubesim.trace.pictures.svg import document, fitted, line, rectangle, text

WIDTH, MARGIN, NAMES = 1000, 16, 210  # pixels
HEAD, ROW, BAND, GAP = 62, 20, 16, 12
SHORT = 12  # the maximum number of pods with all their lanes; with more pods, only phases are drawn
_SHOWN = ("phase", "container", "probe")
_CONDITIONS = ("Ready",)
_LEGEND = (
    ("waiting", "waiting"), ("running", "running"), ("good", "ready, success"), ("bad", "failed"), ("ending", "ending"),
    ("done", "completed"), ("off", "no"),
)  # fmt: skip


class Timeline:
    """The picture of a run. `end` is microseconds since the start."""

    def __init__(self, title: str, pods: Sequence[PodLanes], end: int) -> None:
        self._title, self._end = title, max(end, 1)
        self._pods = pods
        self._brief = len(pods) > SHORT
        self._left = MARGIN + NAMES
        self._scale = (WIDTH - MARGIN - self._left) / self._end

    def svg(self, below: Sequence[str] = (), room: float = 0) -> str:
        """The SVG text; `below` are elements to place under the timeline, in `room` pixels."""
        body: list[str] = []
        y: float = HEAD
        for pod in self._pods:
            y = self._pod(body, pod, y)
        if not self._pods:
            body.append(text(self._left, y + BAND, "no pod had a status", "soft"))
            y += ROW
        bottom = y + ROW + MARGIN
        head = [text(MARGIN, 26, fitted(self._title, (WIDTH - 2 * MARGIN) * 0.75), "title"), *self._axis(y)]
        moved = [f'<g transform="translate(0 {bottom:g})">', *below, "</g>"] if below else []
        return document(WIDTH, bottom + room, self._title, [*head, *body, *_legend(y + BAND), *moved])

    def _x(self, t: int) -> float:
        return self._left + t * self._scale

    def _axis(self, bottom: float) -> Iterator[str]:
        for t, label in ticks(self._end):
            yield line(self._x(t), HEAD - 8, self._x(t), bottom, "grid")
            anchor = "end" if self._x(t) > WIDTH - MARGIN - 20 else "middle" if t else "start"
            yield text(self._x(t), HEAD - 14, label, "tick", anchor=anchor)

    def _pod(self, out: list[str], pod: PodLanes, y: float) -> float:
        lanes = [lane for lane in pod.lanes if self._is_shown(lane)]
        name = pod.pod.removeprefix("default/")
        out.append(text(MARGIN, y + BAND - 3, fitted(name, NAMES - 10), "name"))
        for number, lane in enumerate(lanes):
            if number or not self._brief:
                label = _label(lane)
                if number:
                    out.append(text(MARGIN + 12, y + BAND - 3, fitted(label, NAMES - 20), "soft"))
            out += self._bands(lane, y)
            y += ROW
        if pod.events and not self._brief:
            out.append(text(MARGIN + 12, y + BAND - 3, "Events", "soft"))
            for event in pod.events:
                x, reported = self._x(event.t), f"{duration(event.t)} {event.type} {event.reason}: {event.message}"
                out.append(line(x, y + 2, x, y + BAND - 2, event.type or "Normal", reported))
            y += ROW
        return y + (0 if self._brief else GAP)

    def _is_shown(self, lane: Lane) -> bool:
        if self._brief:
            return lane.kind == "phase"
        return lane.kind in _SHOWN or lane.name in _CONDITIONS

    def _bands(self, lane: Lane, y: float) -> Iterator[str]:
        for band in lane.bands:
            x, width = self._x(band.begin), max((band.end - band.begin) * self._scale, 1)
            reported = f"{_label(lane)}: {band.text}, {duration(band.begin)} to {duration(band.end)}"
            yield rectangle(x, y, width, BAND, fill=band.tone, style="band", title=reported)
            label = fitted(band.text, width - 8)
            if label:
                yield text(x + 4, y + BAND - 4, label)


def _label(lane: Lane) -> str:
    return lane.name or lane.kind


def _legend(y: float) -> Iterator[str]:
    x: float = MARGIN + NAMES
    for tone, label in _LEGEND:
        yield rectangle(x, y, 12, 12, fill=tone)
        yield text(x + 17, y + 10, label, "soft")
        x += 34 + 7 * len(label)

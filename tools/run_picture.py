"""`docs/crashloop.svg` for the README: the states of a container over time, from a real run.

It runs `scenarios/crashloop.yaml` and draws the kubelet's status updates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import ApiWrite, EventRecorded, Record

SCENARIO = Path(__file__).parent.parent / "scenarios" / "crashloop.yaml"
END = 200  # seconds
WIDTH, LEFT, BAR_TOP, BAR = 840, 90, 74, 34
_COLOURS = {"running": "#2da44e", "CrashLoopBackOff": "#bc4c00", "terminated": "#cf222e"}
_OTHER = "#8c959f"
_TEXT = 'font-family="ui-monospace, SFMono-Regular, Menlo, monospace" font-size="12" fill="#57606a"'


def crash_loop() -> str:
    """The picture as SVG."""
    sink = MemorySink()
    run_scenario(load_scenario(str(SCENARIO)), sinks=(sink,))
    return "\n".join(_drawn(sink.records)) + "\n"


def _x(seconds: float) -> float:
    return round(LEFT + seconds * (WIDTH - LEFT - 20) / END, 1)


def _drawn(records: Sequence[Record]) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 190" role="img">'
    yield "<title>kubesim run scenarios/crashloop.yaml: the states of container main</title>"
    yield f'<rect width="{WIDTH}" height="190" rx="8" fill="#ffffff" stroke="#d0d7de"/>'
    yield f'<text x="20" y="30" {_TEXT}>$ kubesim run scenarios/crashloop.yaml</text>'
    yield f'<text x="20" y="{BAR_TOP + 21}" {_TEXT}>main</text>'
    yield from _states(records)
    backs = [record.t / 1e6 for record in records if isinstance(record, EventRecorded) and record.reason == "BackOff"]
    yield f'<text x="20" y="{BAR_TOP + 60}" {_TEXT}>BackOff</text>'
    yield from (f'<circle cx="{_x(t)}" cy="{BAR_TOP + 56}" r="3" fill="#bc4c00"/>' for t in backs if t <= END)
    for second in range(0, END + 1, 20):
        yield f'<text x="{_x(second)}" y="{BAR_TOP + 86}" text-anchor="middle" {_TEXT}>{second}s</text>'
    x = LEFT
    for name, colour in (("ContainerCreating", _OTHER), *_COLOURS.items()):
        yield f'<rect x="{x}" y="44" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 16}" y="53" {_TEXT}>{escape(name)}</text>'
        x += 40 + 8 * len(name)
    yield "</svg>"


def _states(records: Sequence[Record]) -> Iterator[str]:
    """One bar per written state; wide bars name the next restart."""
    writes = [record for record in records if isinstance(record, ApiWrite) and record.is_pod_status]
    for write, after in zip(writes, [*(each.t / 1e6 for each in writes[1:]), END], strict=True):
        begin, end = write.t / 1e6, min(after, END)
        if begin >= END:
            return
        container = write.summary["containers"]["main"]
        name = str(container["state"]).replace("waiting/", "").partition("/")[0]
        width = round(_x(end) - _x(begin), 1)
        colour = _COLOURS.get(name, _OTHER)
        yield f'<rect x="{_x(begin)}" y="{BAR_TOP}" width="{width}" height="{BAR}" fill="{colour}"/>'
        if width > 130:
            label = f"waits for restart {container['restartCount'] + 1}"
            middle = round((_x(begin) + _x(end)) / 2, 1)
            yield (
                f'<text x="{middle}" y="{BAR_TOP + 21}" text-anchor="middle" {_TEXT.replace("#57606a", "#ffffff")}>'
                f"{label}</text>"
            )

"""A screen of the stepper as lines of text: exactly `height` of them, none longer than `width`, no colours.

Views: `step` (the record, the node, what is next), `why` (the chain of causes), `next` (all that is due), `node` (the
whole state of the node) and `help`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

from kubesim.golang.text import printable
from kubesim.trace.records import ApiWrite, Record
from kubesim.trace.sinks.changes import status_changes
from kubesim.trace.sinks.phrases import phrase, subject
from kubesim.trace.stepping.state import Picture
from kubesim.trace.stepping.stepper import Due, Stepper, record_text

NARROWEST, LOWEST = 60, 16
_MARGIN = 9
_RECORD_ROWS = 8
_NEXT_ROWS = 4
FOOTER = "n next  p back  c continue  / search  f filter  w why?  s node  ? help  q quit"
PAGE_FOOTER = "n, p turn pages  w why?  x what next?  s node  ? help  q quit  other keys go back"
HELP = """\
n, space, enter   the next decision
p                 the previous decision
N, P              the next or previous record of any kind
Home ^, End $     the first record, the last record
g                 go to a record: type its number, or a time such as 10s
/, \\              search forward or back: type a text; empty repeats the last search
f                 show only a pod (web) or a node (node=NAME); empty shows all
B, X              break at a condition that you type; remove all breaks
c, b              continue to the next break, or back to the previous one (--break-on)
w                 why? The chain of causes of this record
x                 what next? Everything in progress, and when it is due
s                 the whole state of the node
?                 this help; any key goes back
q                 quit"""


def render(
    stepper: Stepper, view: str, title: str, width: int = 80, height: int = 24, *, page: int = 0, message: str = ""
) -> list[str]:
    """`page` is for views that are longer than the screen; `message` stands in the last line instead of the keys."""
    width, height = max(width, NARROWEST), max(height, LOWEST)
    room = height - 3
    body = _VIEWS[view](stepper, width, room)
    start = min(page, (len(body) - 1) // (room - 1)) * (room - 1)  # the last line of a page says how much follows
    rows = [_head(stepper, title, width), "-" * width, *body[start : start + room]]
    if len(body) > start + room:
        rows[-1] = f"{'':{_MARGIN}}... and {len(body) - start - room + 1} more lines (n shows them)"
    rows += [""] * (height - 1 - len(rows))
    return [printable(row)[:width].rstrip() for row in [*rows, message or (FOOTER if view == "step" else PAGE_FOOTER)]]


def _head(stepper: Stepper, title: str, width: int) -> str:
    here = stepper.here
    position = f"#{here.seq} of {len(stepper.records)}   {here.t / 1_000_000:.3f}s"
    return f"{title[: width - len(position) - 2]:<{width - len(position)}}{position}"


def _labelled(label: str, text: str, width: int) -> list[str]:
    """`LABEL  text`, wrapped; the label stands once."""
    lines = textwrap.wrap(text, width - _MARGIN, break_long_words=True) or [""]
    return [f"{label if n == 0 else '':<{_MARGIN}}{line}" for n, line in enumerate(lines)]


# -- the views --------------------------------------------------------------------------------------------------


def _step(stepper: Stepper, width: int, room: int) -> list[str]:
    record = _record(stepper, width)[:_RECORD_ROWS]
    due = _next(stepper, width)[:_NEXT_ROWS]
    left = room - len(record) - len(due) - 2
    node = list(_node(stepper, width))
    if len(node) > left:
        node = [*node[: left - 1], f"{'':{_MARGIN}}... and {len(node) - left + 1} more lines (s shows all)"]
    return [*record, "-" * width, *node, *[""] * (left - len(node)), "-" * width, *due]


def _record(stepper: Stepper, width: int) -> list[str]:
    here = stepper.here
    said = phrase(here)
    text = said.text
    if isinstance(here, ApiWrite) and here.is_pod_status:
        text += ": " + ", ".join(_changes(stepper))
    about = subject(here)
    if stepper.has_several_nodes:
        about = f"{here.node or '-'} {about}".rstrip()
    lines = _labelled(said.part, f"{about}: {text}" if about else text, width)[:4]
    if here.why:
        lines += _labelled("  why", here.why, width)
    if here.ref:
        lines += _labelled("  as in", here.ref, width)
    if here.cause is not None:
        lines += _labelled("  cause", f"#{here.cause} {_record_text(stepper, stepper.records[here.cause - 1])}", width)[
            :1
        ]
    stopped = stepper.stopped_by(here)
    if stopped is not None:
        lines += _labelled("  break", stopped.text, width)[:1]
    return lines


def _record_text(stepper: Stepper, record: Record) -> str:
    return record_text(record, with_node=stepper.has_several_nodes)


def _changes(stepper: Stepper) -> list[str]:
    """Of the status that is being written."""
    here = stepper.here
    for record in reversed(stepper.records[: stepper.position]):
        if isinstance(record, ApiWrite) and record.pod == here.pod and record.is_pod_status:
            return status_changes(getattr(record, "summary", None), getattr(here, "summary", {}))
    return status_changes(None, getattr(here, "summary", {}))


def _node(stepper: Stepper, width: int) -> Iterator[str]:
    return node_lines(stepper.picture, width, stepper.here, with_node=stepper.has_several_nodes)


def node_lines(picture: Picture, width: int, here: Record, *, with_node: bool = False) -> Iterator[str]:
    """The pod that the record is about comes first. `with_node`: each line names the node of its pod."""

    def named(pod: str) -> str:
        return f"{picture.nodes.get(pod, '-')} {_short(pod)}" if with_node else _short(pod)

    def first(pod: str) -> bool:
        return pod != here.pod

    loop = picture.loop
    ready = f"received from {loop.channel}, ready: {', '.join(loop.ready)}" if loop.channel else "nothing received yet"
    where = f"{loop.node}: " if with_node and loop.node else ""
    handler = f" -> {loop.handler}" if loop.handler else ""
    yield from _labelled("LOOP", f"{where}{ready}{handler}", width)
    for name, conditions in picture.node.items():
        unusual = [f"{type}={value}" for type, value in conditions.items() if (value == "True") != (type == "Ready")]
        yield from _labelled("NODE", f"{name}: {', '.join(unusual) or 'Ready'}", width)
    for worker in sorted(picture.workers.values(), key=lambda worker: first(worker.pod)):
        doing = f"in {worker.sync} since {_seconds(worker.since)}" if worker.sync else "idle"
        waiting = f", pending: {worker.pending}" if worker.pending else ""
        failed = ", last sync failed" if worker.error else ""
        yield _row("WORKER", named(worker.pod), f"{worker.state}, {doing}{waiting}{failed}")
    for sandbox in sorted(picture.sandboxes.values(), key=lambda sandbox: first(sandbox.pod)):
        address = f", address {sandbox.ip}" if sandbox.ip else ""
        yield _row("SANDBOX", named(sandbox.pod), f"{sandbox.state}, {sandbox.id[:12]}{address}")
    for each in sorted(picture.containers.values(), key=lambda container: first(container.pod)):
        state = f"{each.state} {each.exit}" if each.exit else each.state
        start = f"start {each.attempt + 1}, " if each.attempt else ""
        yield _row("CONTAIN.", f"{named(each.pod)}:{each.name}", f"{start}{state} since {_seconds(each.since)}")
    for call in picture.calls.values():
        about = f"{named(call.pod)}:{call.container}" if call.container else named(call.pod)
        yield _row("CALL", about, f"{call.call} in progress since {_seconds(call.t)}")
    for (pod, container, probe), result in sorted(picture.probes.items(), key=lambda item: first(item[0][0])):
        yield _row("PROBE", f"{named(pod)}:{container}", f"{probe} {result}")
    for pod, summary in sorted(picture.statuses.items(), key=lambda item: first(item[0])):
        ready_now = summary.get("conditions", {}).get("Ready", "Unknown").partition("/")[0]
        states = [f"{name} {c['state']}" for name, c in summary.get("containers", {}).items()]
        yield _row("API", named(pod), f"{summary.get('phase', '')}, Ready={ready_now}, {', '.join(states)}")


def _row(label: str, about: str, text: str) -> str:
    return f"{label:<{_MARGIN}}{about:<18} {text}"


def _seconds(t: int) -> str:
    return f"{t / 1_000_000:.3f}"


def _short(pod: str) -> str:
    return pod.removeprefix("default/")


def _whole_node(stepper: Stepper, width: int, room: int) -> list[str]:
    return list(_node(stepper, width))


def _next(stepper: Stepper, width: int) -> list[str]:
    """The next decision of the trace, and what is due."""
    lines = []
    ahead = Stepper(stepper.records)
    ahead.position, ahead.filter = stepper.position, stepper.filter
    if ahead.forward():
        wait = (ahead.here.t - stepper.here.t) / 1_000_000
        lines += _labelled("NEXT", f"in {wait:.3f}s: {_record_text(stepper, ahead.here)}", width)[:1]
    else:
        lines += _labelled("NEXT", "the trace ends here", width)
    for due in stepper.due():
        lines.append(_due_line("due", due, stepper))
    return lines


def _due_line(label: str, due: Due, stepper: Stepper) -> str:
    wait = "        ?" if due.t is None else f"in {(due.t - stepper.here.t) / 1_000_000:.3f}s"
    moment = "" if due.t is None else f" at {_seconds(due.t)}"
    number = f" (#{due.seq})" if due.seq else ""
    return f"  {label:<{_MARGIN - 2}}{wait}: {due.subject}: {due.text}{moment}{number}"


def _what_next(stepper: Stepper, width: int, room: int) -> list[str]:
    lines = ["What next?", "", *_next(stepper, width)]
    follows = stepper.follows()
    if follows:
        lines += ["", "This record leads to:"]
        lines += [f"  #{record.seq:<6} {_seconds(record.t):>9}  {_record_text(stepper, record)}" for record in follows]
    return lines


def _why(stepper: Stepper, width: int, room: int) -> list[str]:
    lines = ["Why? Newest first: each record was caused by the one below it.", ""]
    for record in stepper.why():
        lines.append(f"#{record.seq:<6} {_seconds(record.t):>9}  {_record_text(stepper, record)}")
        if record.why:
            lines += [f"{'':<18}  {line}" for line in textwrap.wrap(record.why, width - 20)]
        if record.ref:
            lines.append(f"{'':<18}  [{record.ref}]")
    return lines


def _help(stepper: Stepper, width: int, room: int) -> list[str]:
    lines = ["Keys", "", *HELP.splitlines()]
    if stepper.breaks:
        lines += ["", "Breaks:", *(f"  {condition.text}" for condition in stepper.breaks)]
    return lines


_VIEWS: dict[str, Callable[[Stepper, int, int], list[str]]] = {
    "step": _step,
    "why": _why,
    "next": _what_next,
    "node": _whole_node,
    "help": _help,
}

"""A screen of the stepper as exactly `height` lines of at most `width` characters without colours, for use without a
terminal.

Views: `step` (the record, the node, the next steps), `why` (the chain of causes), `next` (all steps that are due),
`node` (the whole state of the node), `network`, `logs` and `help`. In a terminal, the view `step` consists of panes
(`cli/tui`), and the others are pages.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.trace.stepping.panes import (
    MARGIN,
    decision_lines,
    fitted,
    follow_lines,
    log_lines,
    network_lines,
    next_lines,
    node_lines,
    why_lines,
)
from kubesim.trace.stepping.stepper import Stepper

NARROWEST, LOWEST = 60, 16
_RECORD_ROWS = 8
_NEXT_ROWS = 4
_LOG_ROWS = 500
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
r, +, -           play: the records come as in the run; faster, slower
i, I              add a step or a fault of the scenario language now; remove the last
w                 why? The chain of causes of this record
x                 what next? Everything in progress, and when it is due
s, a, l           the whole state of the node; addresses and CNI plugins; logs
?                 this help; any key goes back
q                 quit"""


def render(
    stepper: Stepper, view: str, title: str, width: int = 80, height: int = 24, *, page: int = 0, message: str = ""
) -> list[str]:
    """The lines of a view. `page` selects a part of a view that is longer than the screen; `message` replaces the keys
    in the last line.
    """
    width, height = max(width, NARROWEST), max(height, LOWEST)
    room = height - 3
    body = _step(stepper, width, room) if view == "step" else page_lines(stepper, view, width, room, page)
    rows = [head(stepper, title, width), "-" * width, *body]
    rows += [""] * (height - 1 - len(rows))
    footer = message or (FOOTER if view == "step" else PAGE_FOOTER)
    return [fitted([row], width, 1)[0] for row in [*rows, footer]]


def head(stepper: Stepper, title: str, width: int) -> str:
    here = stepper.here
    position = f"#{here.seq} of {len(stepper.records)}   {here.t / 1_000_000:.3f}s"
    return f"{title[: width - len(position) - 2]:<{width - len(position)}}{position}"


def page_lines(stepper: Stepper, view: str, width: int, room: int, page: int) -> list[str]:
    """A page of a view; its last line shows how much follows."""
    body = _VIEWS[view](stepper, width)
    start = min(page, (len(body) - 1) // (room - 1)) * (room - 1)
    rows = body[start : start + room]
    if len(body) > start + room:
        rows[-1] = f"{'':{MARGIN}}... and {len(body) - start - room + 1} more lines (n shows them)"
    return rows


def _step(stepper: Stepper, width: int, room: int) -> list[str]:
    record = decision_lines(stepper, width)[:_RECORD_ROWS]
    due = next_lines(stepper, width)[:_NEXT_ROWS]
    left = room - len(record) - len(due) - 2
    node = _whole_node(stepper, width)
    if len(node) > left:
        node = [*node[: left - 1], f"{'':{MARGIN}}... and {len(node) - left + 1} more lines (s shows all)"]
    return [*record, "-" * width, *node, *[""] * (left - len(node)), "-" * width, *due]


def _whole_node(stepper: Stepper, width: int) -> list[str]:
    loop, nodes = not stepper.is_observed, stepper.has_several_nodes
    return list(node_lines(stepper.picture, width, stepper.here, with_node=nodes, with_loop=loop))


def _network(stepper: Stepper, width: int) -> list[str]:
    return ["The network of the sandbox", "", *network_lines(stepper, stepper.picture)]


def _logs(stepper: Stepper, width: int) -> list[str]:
    return ["Output of containers until now, newest first", "", *log_lines(stepper, _LOG_ROWS)[::-1]]


def _help(stepper: Stepper, width: int) -> list[str]:
    lines = ["Keys", "", *HELP.splitlines()]
    if stepper.breaks:
        lines += ["", "Breaks:", *(f"  {condition.text}" for condition in stepper.breaks)]
    return lines


_VIEWS: dict[str, Callable[[Stepper, int], list[str]]] = {
    "why": why_lines,
    "next": follow_lines,
    "node": _whole_node,
    "network": _network,
    "logs": _logs,
    "help": _help,
}

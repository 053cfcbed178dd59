"""The table of an attached agent: the pods, blocked ones first, then the newest divergences.

On a terminal it fits the screen: only the first pods are shown, and on a narrow screen the next step has a line of its
own. Elsewhere it shows everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND, format_time
from kubesim.attach.explain.page import window_text
from kubesim.attach.explain.statement import Statement
from kubesim.attach.reading.versions import differences
from kubesim.attach.rules.restarts import restart_count
from kubesim.attach.shadow.shadow import Tracked
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.golang.text import duration, printable

# Blocked pods come first.
_ORDER = (
    "terminating",
    "failed",
    "unknown",
    "starting",
    "initializing",
    "running",
    "new",
    "finishing",
    "ready",
    "succeeded",
)
SHOWN_DIVERGENCES = 8
ROOM_FOR_NEXT = 50
UNBOUNDED = 1_000_000
_GAP = "  "


def by_need(pods: Iterable[Tracked]) -> list[Tracked]:
    """The sort key of a pod: blocked pods first."""
    return sorted(pods, key=_rank)


def _rank(tracked: Tracked) -> tuple[int, str, str]:
    rank = _ORDER.index(tracked.stage) if tracked.stage in _ORDER else len(_ORDER)
    return rank, tracked.pod.metadata.namespace, tracked.pod.metadata.name


def header(agent: NodeFollower, *, brief: bool = False) -> list[str]:
    """The state of the node, and its age; brief: without the list of differences."""
    facts, version = _facts(agent)
    notes = differences(version) if version else ()
    if brief and len(notes) > 1:
        notes = (f"kubelet {version} differs in {len(notes)} known ways from these rules; --once lists them",)
    return [printable(" · ".join(facts)), *(printable(f"note: {text}") for text in notes)]


def _facts(agent: NodeFollower) -> tuple[list[str], str]:
    node = agent.shadow.node
    version = str(node.status.node_info.get("kubeletVersion", "")) if node is not None else ""
    age, skew, guessed = agent.lease_age, agent.measured_skew, agent.skew()
    unmeasured = (
        f"clock ahead by {duration(guessed // SECOND * SECOND)} or more" if guessed else "clock skew not measured yet"
    )
    facts = [f"node {agent.node_name}" + (" (gone)" if agent.shadow.node_gone else f" kubelet {version or 'unknown'}")]
    facts.append("lease never seen" if age is None else f"lease renewed {duration(age // SECOND * SECOND)} ago")
    facts.append(unmeasured if skew is None else f"clock skew {duration(skew // MILLISECOND * MILLISECOND)}")
    facts.append("connected" if agent.connected else "NOT CONNECTED: this table may be out of date")
    if configured := agent.shadow.periods.difference():
        facts.append(f"configured: {configured}")
    facts.append(f"{len(agent.shadow.pods)} pods")
    facts.append(f"{agent.divergence_count} divergences")
    return facts, version


def table(agent: NodeFollower, *, width: int = UNBOUNDED, height: int | None = None) -> str:
    """The table. `height` is that of the screen."""
    now = agent.now()
    above = [part for line in header(agent, brief=height is not None) for part in _wrapped(line, width)]
    newest = list(agent.divergences)[-SHOWN_DIVERGENCES:]
    below = [
        _cut(printable(f"! {format_time(one.at)} {one.namespace}/{one.name}: {one.says}"), width) for one in newest
    ]
    pods = by_need(agent.shadow.pods.values())
    room = UNBOUNDED if height is None else max(1, height - len(above) - len(below) - 3)
    rows: list[tuple[str, ...]] = [("POD", "STAGE", "RESTARTS", "WAITS FOR", "NEXT")]
    for tracked in pods[:room]:
        columns = _row(tracked.pod, agent.shadow.statement(tracked.pod.metadata.uid, now), now)
        rows.append(tuple(map(printable, columns)))
    title, *entries = _entries(rows, width)
    shown = entries[: room // max(1, max((len(entry) for entry in entries), default=1))]
    left = [f"... and {len(pods) - len(shown)} more pods; --once shows all"] if len(shown) < len(pods) else []
    return "\n".join([*above, *title, *(line for entry in shown for line in entry), *left, *below]) + "\n"


def _entries(rows: list[tuple[str, ...]], width: int) -> Iterator[list[str]]:
    """The rows, with columns as wide as needed if there is space; the last column gets the rest."""
    limit = max(12, width // 3)
    sizes = [min(limit, max(len(row[column]) for row in rows)) for column in range(len(rows[0]) - 1)]
    beside = width - sum(sizes) - len(_GAP) * len(sizes) >= ROOM_FOR_NEXT
    for number, row in enumerate(rows):
        line = _GAP.join(f"{_cut(text, size):<{size}}" for text, size in zip(row, sizes, strict=False))
        if beside:
            yield [_cut(f"{line}{_GAP}{row[-1]}", width).rstrip()]
        elif number:
            yield [_cut(line, width).rstrip(), _cut(f"    next: {row[-1]}", width)]
        else:
            yield [_cut(line, width).rstrip()]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _wrapped(line: str, width: int) -> Iterator[str]:
    """The text wrapped at the dots between facts, otherwise cut."""
    current = ""
    for fact in line.split(" · "):
        if current and len(current) + 3 + len(fact) > width:
            yield current
            current = fact
        else:
            current = f"{current} · {fact}" if current else fact
    yield current


def _row(pod: Pod, statement: Statement, now: int) -> tuple[str, str, str, str, str]:
    cause = statement.causes[0]
    timed = next((step for step in statement.steps if step.window is not None and step.certain), None)
    first = timed or next(iter(cause.steps), None)
    when = window_text(first.window, now) if first is not None else ""
    following = "" if first is None else f"{when + ': ' if when else ''}{first.what}"
    held = f"{cause.code}: {cause.detail}" if cause.detail else cause.code
    return f"{statement.namespace}/{statement.name}", statement.stage, str(restart_count(pod)), held, following

"""Panes of the stepper as lines of text: the record in focus, the sync loop's channels, pods, the network of a sandbox,
logs, what comes next, and the whole state of a node.

The caller truncates and escapes the lines (`fitted`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubesim.golang.text import printable
from kubesim.trace.records import ApiWrite, CniExec, LogOutput, Record
from kubesim.trace.sinks.changes import status_changes
from kubesim.trace.sinks.phrases import phrase, subject
from kubesim.trace.stepping.state import Picture, Sandbox, WorkerPicture
from kubesim.trace.stepping.stepper import Due, Stepper, record_text

MARGIN = 9
# In the order of the kubelet's select. Device health has a channel only with device plugins.
CHANNELS = ("config", "pleg", "sync", "liveness", "readiness", "startup", "housekeeping")
_ID = 12  # displayed characters of a sandbox id


UNSEEN = "cannot be seen from outside"


def fitted(lines: Iterable[str], width: int, height: int) -> list[str]:
    """At most `height` lines of at most `width` characters, with control characters escaped."""
    found = [printable(line)[:width].rstrip() for line in lines]
    if len(found) <= height or height < 2:
        return found[:height]
    return [*found[: height - 1], f"... and {len(found) - height + 1} more lines"[:width]]


def labelled(label: str, text: str, width: int) -> list[str]:
    """`LABEL text`, wrapped; the label is printed once."""
    lines = textwrap.wrap(text, width - MARGIN, break_long_words=True) or [""]
    return [f"{label if n == 0 else '':<{MARGIN}}{line}" for n, line in enumerate(lines)]


# -- the record in focus ----------------------------------------------------------------------------------------


def decision_lines(stepper: Stepper, width: int) -> list[str]:
    """The text of the current record, its reasons, the upstream function, its cause, and the break that stopped
    here."""
    here = stepper.here
    said = phrase(here)
    text = said.text
    if isinstance(here, ApiWrite) and here.is_pod_status:
        text += ": " + ", ".join(_changes(stepper))
    about = subject(here)
    if stepper.has_several_nodes:
        about = f"{here.node or '-'} {about}".rstrip()
    lines = labelled(said.part, f"{about}: {text}" if about else text, width)[:4]
    if here.why:
        lines += labelled("  why", here.why, width)
    if here.ref:
        lines += labelled("  as in", here.ref, width)
    if here.cause is not None:
        lines += labelled("  cause", f"#{here.cause} {text_of(stepper, stepper.records[here.cause - 1])}", width)[:1]
    stopped = stepper.stopped_by(here)
    if stopped is not None:
        lines += labelled("  break", stopped.text, width)[:1]
    return lines


def text_of(stepper: Stepper, record: Record) -> str:
    return record_text(record, with_node=stepper.has_several_nodes)


def _changes(stepper: Stepper) -> list[str]:
    """The changes of the status that is being written."""
    here = stepper.here
    for record in reversed(stepper.records[: stepper.position]):
        if isinstance(record, ApiWrite) and record.pod == here.pod and record.is_pod_status:
            return status_changes(getattr(record, "summary", None), getattr(here, "summary", {}))
    return status_changes(None, getattr(here, "summary", {}))


# -- the state around it ----------------------------------------------------------------------------------------


def channel_lines(stepper: Stepper, picture: Picture) -> list[str]:
    """The sync loop's channels: `>` marks the one that it received from, `*` the others that were ready. Then the
    called handler.
    """
    loop = picture.loop
    if not loop.channel:
        return [UNSEEN if stepper.is_observed else "nothing received yet"]
    others = [name for name in (loop.channel, *loop.ready) if name not in CHANNELS]
    names = dict.fromkeys((*CHANNELS, *others))
    signs = (">" if name == loop.channel else "*" if name in loop.ready else " " for name in names)
    channels = " ".join(f"{sign}{name}" for sign, name in zip(signs, names, strict=True))
    return [channels, f" -> {loop.handler or 'no handler yet'} at {seconds(loop.t)} on {loop.node}"]


def pod_lines(stepper: Stepper, picture: Picture) -> Iterator[str]:
    """Each pod with its phase and worker; the pod in focus is first, with its containers and calls."""
    here, several = stepper.here.pod, stepper.has_several_nodes
    workers = {worker.pod: worker for worker in picture.workers.values()}
    sandboxes = {sandbox.pod for sandbox in picture.sandboxes.values()}
    pods = sorted({*workers, *picture.statuses, *sandboxes}, key=lambda pod: (pod != here, pod))
    if not pods:
        yield "no pod has reached the kubelet yet"
    for pod in pods:
        node = f"{picture.nodes.get(pod, '-')} " if several else ""
        yield f"{'>' if pod == here else ' '} {node}{short(pod)}  {_api_text(picture.statuses.get(pod))}"
        if pod in workers:
            yield f"    worker {_worker_text(workers[pod])}"
        if pod == here:
            yield from _inside(picture, pod)


def _api_text(summary: Mapping[str, Any] | None) -> str:
    if summary is None:
        return "no status written"
    containers = summary.get("containers", {}).values()
    ready, restarts = (
        sum(bool(each.get("ready")) for each in containers),
        sum(each.get("restartCount", 0) for each in containers),
    )
    restarted = f", {restarts} restarts" if restarts else ""
    return f"{summary.get('phase', '')} {ready}/{len(containers)}{restarted}"


def _worker_text(worker: WorkerPicture) -> str:
    doing = f"in {worker.sync} since {seconds(worker.since)}" if worker.sync else "idle"
    waiting = f", pending: {worker.pending}" if worker.pending else ""
    failed = ", last sync failed" if worker.error else ""
    return f"{worker.state}, {doing}{waiting}{failed}"


def _inside(picture: Picture, pod: str) -> Iterator[str]:
    for each in picture.containers.values():
        if each.pod == pod:
            start = f"start {each.attempt + 1}, " if each.attempt else ""
            yield f"    {each.name}  {start}{each.state} {each.exit}".rstrip() + f" since {seconds(each.since)}"
    for call in picture.calls.values():
        if call.pod == pod:
            about = f" {call.container}" if call.container else ""
            yield f"    call {call.call}{about} since {seconds(call.t)}"
    for (owner, container, probe), result in picture.probes.items():
        if owner == pod:
            yield f"    {probe} probe of {container}: {result}"


def network_lines(stepper: Stepper, picture: Picture) -> Iterator[str]:
    """The sandboxes of the pod in focus (or of all pods), and the results of CNI plugins for the newest one."""
    here = stepper.here.pod
    sandboxes = [each for each in picture.sandboxes.values() if here in ("", each.pod)]
    for sandbox in sandboxes:
        yield from _sandbox_lines(sandbox)
    for pod, executions in picture.plugins.items():
        if here in ("", pod):
            yield from _plugin_lines(pod, executions)
    if stepper.is_observed:
        yield from _reported_addresses(picture, here)
    elif not sandboxes and not picture.plugins.get(here):
        yield f"{short(here)} has no sandbox" if here else "no sandbox"


def _reported_addresses(picture: Picture, pod: str) -> Iterator[str]:
    known = {name: summary["podIP"] for name, summary in picture.statuses.items() if summary.get("podIP")}
    chosen = [name for name in known if pod in ("", name)]
    yield from (f"{short(name)}  address {known[name]}" for name in chosen)
    if not chosen:
        yield UNSEEN


def _sandbox_lines(sandbox: Sandbox) -> Iterator[str]:
    attempt = f", attempt {sandbox.attempt}" if sandbox.attempt else ""
    yield f"{short(sandbox.pod)}  {sandbox.state}, sandbox {sandbox.id[:_ID]}{attempt}"
    if sandbox.ip:
        yield f"  address {sandbox.ip}"


def _plugin_lines(pod: str, executions: Sequence[CniExec]) -> Iterator[str]:
    added = [each for each in executions if each.command == "ADD" and isinstance(each.result, Mapping)]
    removed = executions and executions[-1].command == "DEL"
    if added and not removed:
        yield from _result_lines(added[-1].result)
    for each in executions:
        took = f" {each.took / 1_000_000:.3f}s" if each.took else ""
        yield f"  {each.command} {each.plugin} {f'failed: {each.error}' if each.error else 'ok'}{took}"


def _result_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """The interfaces, addresses and routes of the sandbox, from the result of the last successful plugin."""
    links = [each for each in result.get("interfaces") or () if isinstance(each, Mapping)]
    for address in result.get("ips") or ():
        number = address.get("interface")
        name = links[number].get("name", "") if isinstance(number, int) and number < len(links) else ""
        gateway = f" via {address['gateway']}" if address.get("gateway") else ""
        yield f"  {name} {address.get('address', '')}{gateway}"
    for route in result.get("routes") or ():
        gateway = f" via {route['gw']}" if route.get("gw") else ""
        yield f"  route {route.get('dst', '')}{gateway}"


def log_lines(stepper: Stepper, limit: int) -> list[str]:
    """The last lines of output of the pod in focus, or of all pods."""
    if stepper.is_observed:
        return [UNSEEN]
    pod = stepper.here.pod
    found = stepper.logs(pod, limit)
    if not found:
        return [f"{short(pod)} has written nothing" if pod else "no container has written anything"]
    return [_log_line(line, with_pod=not pod) for line in found]


def _log_line(line: LogOutput, *, with_pod: bool) -> str:
    who = f"{short(line.pod)}:{line.container}" if with_pod else line.container
    return f"{seconds(line.t)} {who}{'!' if line.stream == 'stderr' else '|'} {line.text}"


def timeline_lines(stepper: Stepper, height: int) -> list[str]:
    """The records around the current one, which `>` marks; with a filter, only those that match."""
    records, here = stepper.records, stepper.position
    before: list[int] = []
    index = here - 1
    while index >= 0 and len(before) < height // 2:
        before += [index] if stepper.is_shown(index) else []
        index -= 1
    shown, index = [*before[::-1], here], here + 1
    while index < len(records) and len(shown) < height:
        shown += [index] if stepper.is_shown(index) else []
        index += 1
    return [f"{'>' if n == here else ' '}{_numbered(stepper, records[n])}" for n in shown]


# -- the whole node ---------------------------------------------------------------------------------------------


def node_lines(
    picture: Picture, width: int, here: Record, *, with_node: bool = False, with_loop: bool = True
) -> Iterator[str]:
    """The whole state of the node; the current record's pod comes first. `with_node`: each line names the node of its
    pod.
    """

    def named(pod: str) -> str:
        return f"{picture.nodes.get(pod, '-')} {short(pod)}" if with_node else short(pod)

    def first(pod: str) -> bool:
        return pod != here.pod

    loop = picture.loop
    ready = f"received from {loop.channel}, ready: {', '.join(loop.ready)}" if loop.channel else "nothing received yet"
    where = f"{loop.node}: " if with_node and loop.node else ""
    handler = f" -> {loop.handler}" if loop.handler else ""
    if with_loop:
        yield from labelled("LOOP", f"{where}{ready}{handler}", width)
    for name, conditions in picture.node.items():
        unusual = [f"{type}={value}" for type, value in conditions.items() if (value == "True") != (type == "Ready")]
        yield from labelled("NODE", f"{name}: {', '.join(unusual) or 'Ready'}", width)
    for worker in sorted(picture.workers.values(), key=lambda worker: first(worker.pod)):
        yield _row("WORKER", named(worker.pod), _worker_text(worker))
    for sandbox in sorted(picture.sandboxes.values(), key=lambda sandbox: first(sandbox.pod)):
        address = f", address {sandbox.ip}" if sandbox.ip else ""
        yield _row("SANDBOX", named(sandbox.pod), f"{sandbox.state}, {sandbox.id[:_ID]}{address}")
    for each in sorted(picture.containers.values(), key=lambda container: first(container.pod)):
        state = f"{each.state} {each.exit}" if each.exit else each.state
        start = f"start {each.attempt + 1}, " if each.attempt else ""
        yield _row("CONTAIN.", f"{named(each.pod)}:{each.name}", f"{start}{state} since {seconds(each.since)}")
    for call in picture.calls.values():
        about = f"{named(call.pod)}:{call.container}" if call.container else named(call.pod)
        yield _row("CALL", about, f"{call.call} in progress since {seconds(call.t)}")
    for (pod, container, probe), result in sorted(picture.probes.items(), key=lambda item: first(item[0][0])):
        yield _row("PROBE", f"{named(pod)}:{container}", f"{probe} {result}")
    for pod, summary in sorted(picture.statuses.items(), key=lambda item: first(item[0])):
        ready_now = summary.get("conditions", {}).get("Ready", "Unknown").partition("/")[0]
        states = [f"{name} {c['state']}" for name, c in summary.get("containers", {}).items()]
        yield _row("API", named(pod), f"{summary.get('phase', '')}, Ready={ready_now}, {', '.join(states)}")


def _row(label: str, about: str, text: str) -> str:
    return f"{label:<{MARGIN}}{about:<18} {text}"


def seconds(t: int) -> str:
    return f"{t / 1_000_000:.3f}"


def short(pod: str) -> str:
    return pod.removeprefix("default/")


# -- why, and what next -----------------------------------------------------------------------------------------


def next_lines(stepper: Stepper, width: int) -> list[str]:
    """The next decision in the trace, and the steps that are due."""
    ahead = stepper.next_decision
    if ahead is not None:
        wait = (ahead.t - stepper.here.t) / 1_000_000
        lines = labelled("NEXT", f"in {wait:.3f}s: {text_of(stepper, ahead)}", width)[:1]
    else:
        lines = labelled("NEXT", "the trace ends here", width)
    return lines + [_due_line("due", due, stepper) for due in stepper.due()]


def _due_line(label: str, due: Due, stepper: Stepper) -> str:
    wait = "        ?" if due.t is None else f"in {(due.t - stepper.here.t) / 1_000_000:.3f}s"
    moment = "" if due.t is None else f" at {seconds(due.t)}"
    number = f" (#{due.seq})" if due.seq else ""
    return f"  {label:<{MARGIN - 2}}{wait}: {due.subject}: {due.text}{moment}{number}"


def follow_lines(stepper: Stepper, width: int) -> list[str]:
    """All steps that are due, and the effects of the current record."""
    lines = ["What next?", "", *next_lines(stepper, width)]
    follows = stepper.follows()
    if follows:
        lines += ["", "This record leads to:", *(f"  {_numbered(stepper, record)}" for record in follows)]
    return lines


def why_lines(stepper: Stepper, width: int) -> list[str]:
    """The chain of causes of the current record."""
    lines = ["Why? Newest first: each record was caused by the one below it.", ""]
    for record in stepper.why():
        lines.append(_numbered(stepper, record))
        if record.why:
            lines += [f"{'':<18}  {line}" for line in textwrap.wrap(record.why, width - 20)]
        if record.ref:
            lines.append(f"{'':<18}  [{record.ref}]")
    return lines


def _numbered(stepper: Stepper, record: Record) -> str:
    return f"#{record.seq:<6} {seconds(record.t):>9}  {text_of(stepper, record)}"

"""The text for every kind of record: the component of the kubelet, and what it did.

Every view of a trace uses these texts. One function per kind, found by the record's type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from kubesim.golang.text import duration
from kubesim.trace import records as r
from kubesim.values import value_object

Tone = Literal["plain", "good", "warning", "bad"]


@value_object
class Phrase:
    """The text of a record. `part` is the component (source, loop, worker, ...); `reasons` are sentences that say
    why."""

    part: str
    text: str
    reasons: tuple[str, ...] = ()
    tone: Tone = "plain"


def phrase(record: r.Record) -> Phrase:
    return _PHRASES[type(record)](record)


def subject(record: r.Record) -> str:
    """The subject of a record: `pod`, `pod:container`, `Deployment/web`; the namespace only if it is not `default`."""
    about = getattr(record, "object", "")
    if about:
        kind, _, name = about.partition(" ")
        return f"{kind}/{name.removeprefix('default/')}"
    pod = record.pod.removeprefix("default/")
    return f"{pod}:{record.container}" if record.container else pod


def listed(names: Sequence[str], limit: int = 6) -> str:
    shown = [name.removeprefix("default/") for name in names[:limit]]
    return ", ".join(shown) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _reasons(record: r.Record) -> tuple[str, ...]:
    return tuple(record.why.split("; ")) if record.why else ()


# -- from the source to the worker ------------------------------------------------------------------------------


def _snapshot(record: r.SourceSnapshot) -> Phrase:
    return Phrase("source", f"snapshot from source {record.source}", _reasons(record))


def _config(record: r.ConfigUpdate) -> Phrase:
    text = f"{record.op} from source {record.source}"
    if len(record.pods) > 1:
        text += f": {listed(record.pods)}"
    return Phrase("source", text, _reasons(record))


def _select(record: r.LoopSelect) -> Phrase:
    ready = f" (ready: {', '.join(record.ready)})" if record.ready else ""
    return Phrase("loop", f"channel {record.channel}{ready}", _reasons(record))


def _handler(record: r.Handler) -> Phrase:
    pods = "" if len(record.pods) < 2 else f" for {listed(record.pods)}"
    return Phrase("loop", f"{record.name}{pods}", _reasons(record))


def _worker_update(record: r.WorkerUpdate) -> Phrase:
    return Phrase("worker", f"UpdatePod({record.update})", _reasons(record))


def _worker_state(record: r.WorkerState) -> Phrase:
    return Phrase("worker", f"now {record.state}", _reasons(record))


# -- inside a sync ----------------------------------------------------------------------------------------------


def _sync_begin(record: r.SyncBegin) -> Phrase:
    return Phrase("sync", record.sync, _reasons(record))


def _sync_end(record: r.SyncEnd) -> Phrase:
    delay = duration(round(record.requeue, -3)) if record.requeue else ""
    if record.error:
        retry = f", retry in {delay}" if delay else ""
        return Phrase("sync", f"{record.sync} failed{retry}: {record.error}", tone="bad")
    return Phrase("sync", f"{record.sync} done, next in {delay}" if delay else f"{record.sync} done", _reasons(record))


def _actions(record: r.Actions) -> Phrase:
    text = decision(record.decision)
    if not text:
        return Phrase("decide", record.why or "nothing to do")
    return Phrase("decide", text, _reasons(record))


def decision(plan: Mapping[str, Any]) -> str:
    """The plan of compute_pod_actions, in the order of its steps."""
    steps = []
    attempt = plan.get("attempt", 0)
    # A pod without a sandbox is also "killed" first, although there is nothing to stop.
    if plan.get("killPod") and (attempt or not plan.get("createSandbox")):
        steps.append("stop the whole pod")
    for key, verb in (("kill", "stop"), ("reset", "stop and remove")):
        if plan.get(key):
            steps.append(f"{verb} {listed(plan[key])}")
    if plan.get("createSandbox"):
        steps.append(f"create sandbox (attempt {attempt})" if attempt else "create sandbox")
    for key, kind in (("startEphemeral", "ephemeral container "), ("startInit", "init container "), ("start", "")):
        if plan.get(key):
            steps.append(f"start {kind}{listed(plan[key])}")
    for key, what in (("resize", "resize"), ("resizePod", "resize the pod")):
        if plan.get(key):
            steps.append(what if plan[key] is True else f"{what} {listed(plan[key])}")
    return ", ".join(steps)


def _cri_call(record: r.CriCall) -> Phrase:
    args = record.args
    words = [record.call]
    if args.get("attempt"):
        words.append(f"(attempt {args['attempt']})")
    if "image" in args:
        words.append(args["image"])
    if "cmd" in args:
        words.append(" ".join(args["cmd"]))
    if "timeout" in args:
        words.append(f"with a grace period of {args['timeout']}s")
    return Phrase("runtime", " ".join(words), _reasons(record))


def _cri_return(record: r.CriReturn) -> Phrase:
    if record.error:
        return Phrase("runtime", f"{record.call} failed: {record.error}", _reasons(record), "bad")
    result = f": {record.result}" if record.result is not None else ""
    return Phrase("runtime", f"{record.call} returned{result}", _reasons(record))


def _cni_exec(record: r.CniExec) -> Phrase:
    if record.error:
        return Phrase("cni", f"{record.command} {record.plugin} failed: {record.error}", _reasons(record), "bad")
    return Phrase("cni", f"{record.command} {record.plugin}", _reasons(record))


def _runtime_step(record: r.RuntimeStep) -> Phrase:
    part = "sync" if record.runtime == "kubelet" else "runtime"
    if record.error:
        return Phrase(part, f"{record.during}: {record.step} failed: {record.error}", _reasons(record), "bad")
    return Phrase(part, f"{record.during}: {record.step}", _reasons(record))


def _operation(record: r.OperationPassed) -> Phrase:
    return Phrase("runtime", f"{record.moment} {record.operation} {record.subject}".rstrip())


def _container_event(record: r.ContainerEvent) -> Phrase:
    return Phrase("runtime", f"sends {record.type} for {record.container or 'the sandbox'}", _reasons(record))


# -- what is observed and reported ----------------------------------------------------------------------------------


def _pleg(record: r.PlegEvent) -> Phrase:
    return Phrase("pleg", record.type, _reasons(record))


def _probe(record: r.ProbeOutcome) -> Phrase:
    tone: Tone = "warning" if record.result == "failure" else "plain"
    return Phrase("probe", f"{record.probe} is now {record.result}", _reasons(record), tone)


def _status_set(record: r.StatusSet) -> Phrase:
    return Phrase("status", f"version {record.version} queued for the API server: {record.phase}", _reasons(record))


def _api_write(record: r.ApiWrite) -> Phrase:
    who = record.by or "unknown client"
    return Phrase("api", f"{who}: {record.verb} {record.resource}", _reasons(record))


def _event(record: r.EventRecorded) -> Phrase:
    if record.type == "Warning":
        return Phrase("event", f"Warning {record.reason}: {record.message}", _reasons(record), "warning")
    return Phrase("event", f"{record.reason}: {record.message}", _reasons(record), "good")


def _log(record: r.LogOutput) -> Phrase:
    return Phrase("log", record.text + (" (stderr)" if record.stream == "stderr" else ""))


def _fault(record: r.Fault) -> Phrase:
    return Phrase("fault", record.fault, _reasons(record), "warning")


def _expectation(record: r.Expectation) -> Phrase:
    if record.met:
        return Phrase("expect", f"met: {record.expectation}", _reasons(record), "good")
    return Phrase("expect", f"FAILED: {record.expectation}", _reasons(record), "bad")


def _note(record: r.Note) -> Phrase:
    return Phrase("note", record.text, _reasons(record))


_PHRASES: dict[type[r.Record], Callable[[Any], Phrase]] = {
    r.SourceSnapshot: _snapshot,
    r.ConfigUpdate: _config,
    r.LoopSelect: _select,
    r.Handler: _handler,
    r.WorkerUpdate: _worker_update,
    r.WorkerState: _worker_state,
    r.SyncBegin: _sync_begin,
    r.SyncEnd: _sync_end,
    r.Actions: _actions,
    r.CriCall: _cri_call,
    r.CriReturn: _cri_return,
    r.CniExec: _cni_exec,
    r.RuntimeStep: _runtime_step,
    r.ContainerEvent: _container_event,
    r.OperationPassed: _operation,
    r.PlegEvent: _pleg,
    r.ProbeOutcome: _probe,
    r.StatusSet: _status_set,
    r.ApiWrite: _api_write,
    r.EventRecorded: _event,
    r.LogOutput: _log,
    r.Fault: _fault,
    r.Expectation: _expectation,
    r.Note: _note,
}

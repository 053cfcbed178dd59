"""Answers a question about the state of an object."""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.scenario.expecting.answers import Answer
from kubesim.scenario.expecting.containers import ask_container
from kubesim.scenario.expecting.fields import ask_field
from kubesim.scenario.expecting.quantities import Bounds
from kubesim.scenario.language.expect_items import ObjectQuestion

_READY = {"DaemonSet": "numberReady", "Job": "ready"}
_ANY = Bounds.model_construct(at_least=0)


def ask(question: ObjectQuestion, obj: ApiObject, gone: bool) -> Answer:
    """The answer for an object that exists or was just deleted; `obj` is its last seen state."""
    asked = question.asked
    if asked == "gone":
        return Answer(gone, "it is gone" if gone else "it still exists")
    if asked == "exists":
        return Answer(not gone, "it is gone" if gone else "it is there")
    answer = _ask(question, obj)
    if not gone:
        return answer
    what = "the pod" if obj.kind == "Pod" else "the object"
    # The restart count of a deleted pod remains true.
    holds = answer.holds and asked == "restart_count"
    return Answer(holds, f"{answer.seen}, and {what} is gone", answer.known, answer.number)


def _ask(question: ObjectQuestion, obj: ApiObject) -> Answer:
    match question.asked:
        case "condition":
            return _condition(question, obj)
        case "field":
            return ask_field(question, obj)
        case "ready":
            return _ready(question, obj)
        case "endpoints":
            return _endpoints(obj)
        case "phase":
            phase = obj.status.phase if isinstance(obj, Pod) else ""
            return Answer(phase == question.phase, f"the phase is {phase}")
        case _:
            assert isinstance(obj, Pod)
            return ask_container(question, obj)


def wanted_condition(question: ObjectQuestion) -> tuple[str, str]:
    type, _, status = (question.condition or "").partition("=")
    return type, status or "True"


def _condition(question: ObjectQuestion, obj: ApiObject) -> Answer:
    type, wanted = wanted_condition(question)
    if isinstance(obj, Pod):
        found = next((c.status for c in obj.status.conditions if c.type == type), "not set")
    else:
        conditions = (obj.to_json().get("status") or {}).get("conditions") or ()
        found = next((c.get("status", "") for c in conditions if c.get("type") == type), "not set")
    return Answer(found == wanted, f"{type} is {found}")


def _ready(question: ObjectQuestion, obj: ApiObject) -> Answer:
    status = obj.to_json().get("status") or {}
    number = status.get(_READY.get(obj.kind, "readyReplicas"), 0)
    return Answer((question.ready or _ANY).hold(number), f"{number} ready", number=number)


def _endpoints(piece: ApiObject) -> Answer:
    """The number of ready addresses of one EndpointSlice; the caller adds up all slices of a Service."""
    endpoints = piece.to_json().get("endpoints") or ()
    ready = [each for each in endpoints if (each.get("conditions") or {}).get("ready")]
    return Answer(False, "", number=len(ready))

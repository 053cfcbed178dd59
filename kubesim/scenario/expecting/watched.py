"""Collects the answers to a question over the time of a run: the state of its objects, and the counted occurrences."""

from __future__ import annotations

import difflib
from fnmatch import fnmatchcase

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.scenario.expecting import occurrences
from kubesim.scenario.expecting.answers import Answer
from kubesim.scenario.expecting.asking import ask
from kubesim.scenario.expecting.containers import container_statuses, has_started
from kubesim.scenario.expecting.forms import Facts
from kubesim.scenario.expecting.quantities import Bounds
from kubesim.scenario.language.expect_items import OCCURRENCES, ObjectQuestion
from kubesim.trace.records import CniExec, Record

SERVICE_NAME = "kubernetes.io/service-name"  # the label of an EndpointSlice
_AT_LEAST_ONE = Bounds.model_construct(at_least=1)


class WatchedQuestion:
    """A question of an expectation. `target` is the question itself, or the expectation that names its object."""

    def __init__(
        self, question: ObjectQuestion, target: ObjectQuestion, *, never: bool = False, always: bool = False
    ) -> None:
        self.question = question
        self.target = target
        self._never, self._always = never, always
        self.asked = question.asked
        self.kind = "EndpointSlice" if self.asked == "endpoints" else target.kind
        self.counts = self.asked in OCCURRENCES
        self._answers: dict[str, Answer] = {}  # of the existing objects, by name
        self._last: Answer | None = None
        self._events: dict[str, int] = {}  # how often each Event was emitted, by the name of the Event object
        self._counted = 0  # the number of log lines and calls
        self._before = 0  # the count before the period began
        self._existed = not target.kind
        # Only the first CNI call shows that the run calls plugins at all.
        self._known = not target.kind and not (question.call or "").startswith(occurrences.CNI)
        self.near = ""  # the closest observation

    def is_about(self, kind: str, namespace: str, name: str) -> bool:
        wanted_namespace, wanted = self.target.key
        return kind == self.target.kind and namespace == wanted_namespace and fnmatchcase(name, wanted)

    def begin(self) -> None:
        """Begin the period of the expectation: earlier occurrences do not count."""
        self._before = sum(self._events.values()) + self._counted
        self._existed = not self.target.kind or bool(self._answers)

    # -- what happens -------------------------------------------------------------------------------------------

    def object_changed(self, obj: ApiObject, gone: bool) -> None:
        service = (obj.metadata.namespace, obj.metadata.labels.get(SERVICE_NAME))
        if self.asked == "endpoints" and service != self.target.key:
            return
        self._existed = True
        name = obj.metadata.name
        if self.counts:
            self._known = self._known or self._could_happen(obj)
            self._answers[name] = Answer(False, "")
        else:
            answer = ask(self.question, obj, gone)
            self._known = self._known or answer.known
            self._answers[name] = self._last = answer
        if gone and self.asked not in ("gone", "restart_count"):
            del self._answers[name]

    def _could_happen(self, obj: ApiObject) -> bool:
        """Whether a container has started that could have written a line; Events and calls do not need one."""
        if (self.question.call or "").startswith(occurrences.CNI):
            return False
        if self.asked != "log" and not self.question.container:
            return True
        if not isinstance(obj, Pod):
            return True
        statuses = container_statuses(obj, self.question.container)
        return has_started(statuses) if self.asked == "log" else bool(statuses)

    def event_changed(self, event: Event) -> bool:
        """Whether this Event is one that the question counts."""
        if occurrences.event_fits(self.question, event):
            self._events[event.metadata.name] = occurrences.times_emitted(event)
            return True
        if event.reason == self.question.event or (
            not self.near and difflib.SequenceMatcher(None, event.reason, self.question.event or "").ratio() > 0.8
        ):
            self.near = f"Event {event.reason}: {event.message}"
        return False

    def record(self, record: Record) -> bool:
        if isinstance(record, CniExec):
            self._known = True
        if not occurrences.record_fits(self.question, record):
            return False
        self._counted += 1
        return True

    # -- what is known ------------------------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        there = bool(self._answers) or not self.target.kind
        if self.counts:
            return self._counted_facts(there)
        answers = list(self._answers.values())
        if self.asked == "endpoints":
            return self._endpoint_facts(answers, there)
        number = sum(answer.holds for answer in answers)
        bounds = self.question.count or _AT_LEAST_ONE
        holds = bounds.hold(number)
        seen = self._seen(answers)
        if self.question.count is not None:
            seen = f"it is true of {number} of {len(answers)} objects"
        everywhere = holds if self.question.count is not None else number == len(answers)
        reached, broken = number >= bounds.lowest, False
        limit = self.question.restart_count
        if limit is not None:
            most = max((answer.number for answer in answers), default=0)
            reached = self._known and most >= limit.lowest
            broken = limit.exceeded_by(most) and not self.target.is_glob and not self._never
        return Facts(holds, seen, everywhere, reached, broken, there, self._existed, self._known)

    def _seen(self, answers: list[Answer]) -> str:
        """The observed value of an object for which the answer is true; with `always`, false."""
        chosen = min(answers, key=lambda answer: answer.holds == self._always, default=self._last)
        if chosen is not None:
            return chosen.seen
        return "no such pod was seen" if self.target.kind == "Pod" else "no such object was seen"

    def _endpoint_facts(self, answers: list[Answer], there: bool) -> Facts:
        number = sum(answer.number for answer in answers)
        wanted = self.question.endpoints or _AT_LEAST_ONE
        seen = f"{number} endpoints are ready" if self._existed else "no EndpointSlice of it was seen"
        holds = there and wanted.hold(number)
        return Facts(holds, seen, holds, there and number >= wanted.lowest, False, there, self._existed)

    def _counted_facts(self, there: bool) -> Facts:
        number = sum(self._events.values()) + self._counted - self._before
        bounds = self.question.count or _AT_LEAST_ONE
        seen = occurrences.in_words(self.question, number)
        if not self._existed and not number:
            seen = "no such pod was seen" if self.target.kind == "Pod" else "no such object was seen"
        elif not self._known and not number:
            seen += f", and {self._missing()}"
        broken = bounds.exceeded_by(number) and not self._never
        existed = self._existed or number > 0
        known = self._known or number > 0
        return Facts(bounds.hold(number), seen, True, number >= bounds.lowest, broken, there, existed, known)

    def _missing(self) -> str:
        if (self.question.call or "").startswith(occurrences.CNI):
            return "no CNI plugin was called (runtime: cni calls them)"
        whose = f"container {self.question.container}" if self.question.container else "its containers"
        return f"{whose} never {'started' if self.asked == 'log' else 'had a status'}"

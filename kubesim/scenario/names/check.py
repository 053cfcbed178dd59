"""What is wrong with the names and times of a scenario's expectations, as far as the file shows it.

A name that does not exist makes an expectation that cannot fail (`never`) or cannot pass. `custom: true` allows names
that neither Kubernetes nor the file knows.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from pydantic.alias_generators import to_camel

from kubesim.cluster.store.kinds import RESOURCES
from kubesim.golang.text import duration
from kubesim.scenario.expecting.asking import wanted_condition
from kubesim.scenario.expecting.occurrences import API, CNI
from kubesim.scenario.language.document import Spec
from kubesim.scenario.language.expect_items import Expect, ObjectQuestion, Occasion
from kubesim.scenario.load.manifests import Problem
from kubesim.scenario.load.yaml_source import Path
from kubesim.scenario.names import tables
from kubesim.scenario.names.paths import path_problem
from kubesim.scenario.names.pods import CHECKED_KINDS, Cast, Makeable, cast_of

_CUSTOM = "custom: true allows other names"


def expectation_problems(spec: Spec) -> Iterator[Problem]:
    """Each with its path below `spec`."""
    cast = cast_of(spec)
    for number, expect in enumerate(spec.expect):
        path: Path = ("expect", number)
        yield from _late(expect, spec.duration, path)
        if expect.order is None:
            yield from _names(expect, expect, cast, path)
        for place, moment in enumerate(expect.order or ()):
            yield from _names(moment, expect, cast, (*path, "order", place))
        if isinstance(expect.of, Occasion):
            yield from _names(expect.of, expect, cast, (*path, "of"))


def _late(expect: Expect, end: int | None, path: Path) -> Iterator[Problem]:
    if end is None:
        return
    for name in ("at", "by", "within"):
        if (getattr(expect, name) or 0) > end:
            yield Problem((*path, name), f"is after the end of the run (spec.duration is {duration(end)})")
    if expect.between is not None and expect.between[1] > end:
        yield Problem((*path, "between"), f"ends after the end of the run (spec.duration is {duration(end)})")


def _names(question: ObjectQuestion, outer: ObjectQuestion, cast: Cast, path: Path) -> Iterator[Problem]:
    target = question if question.has_target else outer
    if question.custom or outer.custom:
        return
    found = list(_targets(target, cast))
    checked = target.kind in CHECKED_KINDS and not cast.unknown
    if checked and not found:
        name = "node" if target.node else "pod" if target.pod else "object"
        yield Problem((*path, name), _no_such_object(target, cast))
    elif question.container and checked:
        names = {name for item in found for name in item.containers} | cast.extra_containers
        if question.container not in names:
            hint = _hint(question.container, names, "; its containers are ")
            yield Problem((*path, "container"), f"{target.text} has no container {question.container}{hint}")
    yield from _words(question, target.kind, cast, path)
    if question.field is not None and (problem := path_problem(question, target.kind)):
        yield Problem((*path, "field"), problem)


def _targets(target: ObjectQuestion, cast: Cast) -> Iterator[Makeable]:
    namespace, name = target.key
    for item in cast.of(target.kind):
        if item.namespace == namespace and (item.may_match(name) if target.is_glob else item.is_named(name)):
            yield item


def _no_such_object(target: ObjectQuestion, cast: Cast) -> str:
    names = {f"{item.namespace}/{item.shown}".removeprefix("default/").strip("/") for item in cast.of(target.kind)}
    wanted = "/".join(filter(None, target.key)).removeprefix("default/")
    elsewhere = [name for name in sorted(names) if name.rpartition("/")[2] == target.key[1]]
    hint = f"; did you mean {elsewhere[0]}?" if elsewhere else _hint(wanted, names, "; there can be ")
    what = {"Pod": "pod", "Node": "node"}.get(target.kind, target.kind)
    return f"nothing in this scenario creates {what} {wanted}{hint}"


def _words(question: ObjectQuestion, kind: str, cast: Cast, path: Path) -> Iterator[Problem]:
    """Words that Kubernetes knows."""
    if question.event is not None and not question.event.startswith(tables.OUT_OF):
        yield from _unknown(question, "event", question.event, tables.EVENT_REASONS, "Event reason", path)
    if question.waiting is not None:
        yield from _unknown(question, "waiting", question.waiting, tables.WAITING_REASONS, "reason to wait", path)
    if question.reason:
        known = tables.WAITING_REASONS if question.state == "waiting" else tables.TERMINATED_REASONS
        yield from _unknown(question, "reason", question.reason, known, "reason", path)
    if question.condition is not None and kind in tables.CONDITIONS:
        known = cast.readiness_gates.union(tables.CONDITIONS[kind])
        type = wanted_condition(question)[0]
        yield from _unknown(question, "condition", type, known, f"condition of a {kind}", path)
    if question.call is not None and (problem := _call_problem(question.call)):
        yield Problem((*path, "call"), problem)


def _unknown(
    question: ObjectQuestion, field: str, name: str, known: Iterable[str], what: str, path: Path
) -> Iterator[Problem]:
    if name not in known:
        yield Problem((*path, to_camel(field)), f"unknown {what} {name}{_hint(name, known)}; {_CUSTOM}")


def _call_problem(call: str) -> str:
    if call.startswith(CNI):
        command = call.removeprefix(CNI)
        return "" if command in tables.CNI_COMMANDS else f"unknown CNI command {command}{_list(tables.CNI_COMMANDS)}"
    if call.startswith(API):
        verb, _, resource = call.removeprefix(API).partition(" ")
        if verb not in tables.API_VERBS:
            return f"unknown verb {verb}{_list(tables.API_VERBS)}"
        plurals = {known.plural for known in RESOURCES.values()}
        plural = resource.partition("/")[0]
        return "" if plural in plurals else f"unknown resource {plural}{_hint(plural, plurals)}"
    if call in tables.RUNTIME_CALLS:
        return ""
    hint = _hint(call, tables.RUNTIME_CALLS) or _list(tables.RUNTIME_CALLS)
    return f"unknown call {call}{hint}; others are written cni ADD, api patch pods/status"


def _list(known: Iterable[str]) -> str:
    return f"; known are {', '.join(sorted(known))}"


def _hint(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """`; did you mean Killing?`"""
    names = sorted(known)
    same = [each for each in names if each.lower() == name.lower()]
    near = same or difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"{otherwise}{', '.join(names[:8])}" if otherwise and names else ""

"""Checks the names and times of a scenario's expectations, as far as the file determines them.

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
from kubesim.scenario.language.expect_items import Expect, ObjectQuestion, Occasion, is_glob
from kubesim.scenario.language.step_items import SCALABLE
from kubesim.scenario.load.manifests import ManifestProblem
from kubesim.scenario.load.yaml_source import Path
from kubesim.scenario.names import tables
from kubesim.scenario.names.paths import named_conditions, named_containers, path_problem
from kubesim.scenario.names.pods import Cast, Makeable, cast_of, is_checked

_CUSTOM = "custom: true allows other names"


def expectation_problems(spec: Spec) -> Iterator[ManifestProblem]:
    """The problems, each with its path below `spec`."""
    cast = cast_of(spec)
    yield from _behaviours(spec, cast)
    for number, expect in enumerate(spec.expect):
        path: Path = ("expect", number)
        yield from _late(expect, spec.duration, path)
        if expect.order is None:
            yield from _names(expect, expect, cast, path)
        for index, moment in enumerate(expect.order or ()):
            yield from _names(moment, expect, cast, (*path, "order", index))
        if isinstance(expect.of, Occasion):
            yield from _names(expect.of, expect, cast, (*path, "of"))


def _behaviours(spec: Spec, cast: Cast) -> Iterator[ManifestProblem]:
    """Behaviours and dependencies that name pods that cannot exist; a glob need not match."""
    if cast.unknown or not cast.of("Pod"):
        return
    named = [(("behaviours", number), each.pod, each.container) for number, each in enumerate(spec.behaviours)]
    named += [(("dependencies", number), each.pod, "*") for number, each in enumerate(spec.dependencies) if each.pod]
    for path, pod, container in named:
        if is_glob(pod):
            continue
        namespace, _, name = pod.rpartition("/")
        found = [item for item in cast.of("Pod") if item.is_named(name) and namespace in ("", item.namespace)]
        names = {name for item in found for name in item.containers} | cast.extra_containers
        if not found:
            target = ObjectQuestion.model_construct(pod=pod)
            yield ManifestProblem((*path, "pod"), _no_such_object(target, cast))
        elif not is_glob(container) and container not in names:
            yield ManifestProblem((*path, "container"), _no_container(f"pod {pod} has no", container, names))


def _late(expect: Expect, end: int | None, path: Path) -> Iterator[ManifestProblem]:
    if end is None:
        return
    for name in ("at", "by", "within"):
        if (getattr(expect, name) or 0) > end:
            yield ManifestProblem((*path, name), f"is after the end of the run (spec.duration is {duration(end)})")
    if expect.between is not None and expect.between[1] > end:
        yield ManifestProblem((*path, "between"), f"ends after the end of the run (spec.duration is {duration(end)})")


def _names(question: ObjectQuestion, outer: ObjectQuestion, cast: Cast, path: Path) -> Iterator[ManifestProblem]:
    target = question if question.has_target else outer
    if not question.custom and not outer.custom:
        yield from _objects(question, target, cast, path)
        yield from _words(question, target.kind, cast.readiness_gates, path)
    yield from _fixed_words(question, target, path)


def word_problems(expect: Expect, own_conditions: frozenset[str]) -> Iterator[ManifestProblem]:
    """Unknown words of Kubernetes in a question, without a file. Pods may also have conditions of readiness gates."""
    for question in expect.questions:
        target = question if question.has_target else expect
        if not question.custom and not expect.custom:
            yield from _words(question, target.kind, own_conditions, ())
        yield from _fixed_words(question, target, ())


def _objects(question: ObjectQuestion, target: ObjectQuestion, cast: Cast, path: Path) -> Iterator[ManifestProblem]:
    """Objects and containers that the scenario cannot create."""
    if cast.unknown or (target.has_target and not is_checked(target.kind)):
        return
    found = list(_targets(target, cast)) if target.has_target else cast.of("Pod")
    if not found:
        name = "node" if target.node else "pod" if target.pod else "object"
        yield ManifestProblem((*path, name), _no_such_object(target, cast))
        return
    if target.kind == "Node":  # a Node may report the containers of all its pods
        found = cast.of("Pod")
    names = {name for item in found for name in item.containers} | cast.extra_containers
    named = [("container", question.container)] if question.container else []
    if target.kind == "Pod":
        named += [("field", name) for name in named_containers(question.field or "")]
    for field, name in named:
        if name not in names:
            what = f"{target.text} has no" if target.kind == "Pod" else "no pod has a"
            yield ManifestProblem((*path, field), _no_container(what, name, names))


def _no_container(what: str, name: str, names: Iterable[str]) -> str:
    return f"{what} container {name}{_hint(name, names, '; its containers are ')}"


def _targets(target: ObjectQuestion, cast: Cast) -> Iterator[Makeable]:
    namespace, name = target.key
    for item in cast.of(target.kind):
        is_there = item.namespace == namespace or "." in target.kind  # some custom kinds are cluster-scoped
        if is_there and (item.may_match(name) if target.is_glob else item.is_named(name)):
            yield item


def _no_such_object(target: ObjectQuestion, cast: Cast) -> str:
    names = {f"{item.namespace}/{item.shown}".removeprefix("default/").strip("/") for item in cast.of(target.kind)}
    wanted = "/".join(filter(None, target.key)).removeprefix("default/")
    elsewhere = [name for name in sorted(names) if name.rpartition("/")[2] == target.key[1]]
    hint = f"; did you mean {elsewhere[0]}?" if elsewhere else _hint(wanted, names, "; there can be ")
    what = {"Pod": "pod", "Node": "node"}.get(target.kind, target.kind)
    return f"nothing in this scenario creates {what} {wanted}{hint}"


def _words(
    question: ObjectQuestion, kind: str, own_conditions: frozenset[str], path: Path
) -> Iterator[ManifestProblem]:
    """Unknown words of sets that can be extended, such as Event reasons."""
    if question.event is not None and not (kind == "Pod" and tables.is_out_of(question.event)):
        known, what = tables.event_reasons(kind), "Event reason"
        if question.event in tables.EVENT_REASONS and question.event not in known:
            what = f"Event about a {kind}:"
        yield from _unknown("event", question.event, known, what, path)
    if question.waiting is not None:
        yield from _unknown("waiting", question.waiting, tables.WAITING_REASONS, "reason to wait", path)
    if question.reason:
        known = tables.WAITING_REASONS if question.state == "waiting" else tables.TERMINATED_REASONS
        yield from _unknown("reason", question.reason, known, "reason", path)
    if kind in RESOURCES:
        types = [("condition", wanted_condition(question)[0])] if question.condition is not None else []
        types += [("field", type) for type in named_conditions(question.field or "")]
        known = own_conditions.union(tables.CONDITIONS.get(kind, ()))
        for field, type in types:
            yield from _unknown(field, type, known, f"condition of a {kind}", path)


def _fixed_words(question: ObjectQuestion, target: ObjectQuestion, path: Path) -> Iterator[ManifestProblem]:
    """Unknown words of fixed sets."""
    if question.call is not None and (problem := _call_problem(question.call, target.kind)):
        yield ManifestProblem((*path, "call"), problem)
    if question.field is not None and (problem := path_problem(question, target.kind)):
        yield ManifestProblem((*path, "field"), problem)


def _unknown(field: str, name: str, known: Iterable[str], what: str, path: Path) -> Iterator[ManifestProblem]:
    if name not in known:
        yield ManifestProblem((*path, to_camel(field)), f"unknown {what} {name}{_hint(name, known)}; {_CUSTOM}")


def _call_problem(call: str, kind: str) -> str:
    if call.startswith(CNI):
        command = call.removeprefix(CNI)
        return "" if command in tables.CNI_COMMANDS else f"unknown CNI command {command}{_list(tables.CNI_COMMANDS)}"
    if call.startswith(API):
        verb, _, resource = call.removeprefix(API).partition(" ")
        if verb not in tables.API_VERBS:
            return f"unknown verb {verb}{_list(tables.API_VERBS)}"
        return _resource_problem(verb, resource, kind)
    if call in tables.RUNTIME_CALLS:
        return ""
    hint = _hint(call, tables.RUNTIME_CALLS) or _list(tables.RUNTIME_CALLS)
    return f"unknown call {call}{hint}; others are written cni ADD, api patch pods/status"


def _resource_problem(verb: str, resource: str, kind: str) -> str:
    plural, slash, subresource = resource.partition("/")
    found = {known.plural: known for known in RESOURCES.values()}
    if plural not in found:
        return f"unknown resource {plural}{_hint(plural, found)}"
    subresources = {*found[plural].subresources, *(("scale",) if found[plural].kind in SCALABLE else ())}
    if slash and subresource not in subresources:
        return f"{plural} have no {subresource}{_hint(subresource, subresources) or _list(subresources)}"
    if kind not in ("", found[plural].kind):
        return f"a {kind} is no part of a call about {plural}: leave the target out"
    if plural in tables.UNCOUNTED or f"{verb} {resource}" in tables.UNCOUNTED:
        return f"calls to {verb} {resource} are not counted; {tables.UNCOUNTED_REMEDY}"
    return ""


def _list(known: Iterable[str]) -> str:
    return f"; known are {', '.join(sorted(known))}"


def _hint(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The nearest known word as a suffix: `; did you mean Killing?`"""
    names = sorted(known)
    same = [each for each in names if each.lower() == name.lower()]
    near = same or difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"{otherwise}{', '.join(names[:8])}" if otherwise and names else ""

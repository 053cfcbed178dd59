"""What the fields of an item demand of each other, in JSON Schema: the same rules as the validators of the language.

An error is reported at the item itself, as the loader does. `null` counts as given here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from kubesim.scenario.language import expect_items
from kubesim.scenario.language.expect_items import Expect, ObjectQuestion
from kubesim.scenario.language.object_items import ObjectTarget
from kubesim.scenario.language.operations.dependency_items import DependencyStep
from kubesim.scenario.language.operations.fault_items import FaultItem
from kubesim.scenario.language.operations.when_items import QUESTIONS, When
from kubesim.scenario.language.step_items import ACTIONS, Step

Schema = dict[str, Any]


def choices(model: type[BaseModel]) -> Schema:
    rules = list(_rules(model))
    return {"allOf": rules} if rules else {}


def _rules(model: type[BaseModel]) -> Iterator[Schema]:
    if model is Step:
        yield one_of(("at", "when"))
        yield one_of(map(to_camel, ACTIONS))
        yield {"dependencies": {"delay": ["when"], "by": ["when"]}}
    elif model is When:
        operation = any_of(("after", "before"))
        others = {"not": any_of(("object", *QUESTIONS))}
        about = [one_of(("pod", "object")), one_of(QUESTIONS)]
        yield {"if": operation, "then": {"allOf": [one_of(("after", "before")), others]}, "else": {"allOf": about}}
    elif model is FaultItem:
        kinds = ("error", "hang", "crash", "torn")
        single = {"allOf": [any_of((*kinds, "latency")), at_most_one(kinds)]}
        yield {"if": given("results"), "then": {"not": given("times")}, "else": single}
    elif model is DependencyStep:
        yield any_of(("latency", "down"))
    elif issubclass(model, ObjectQuestion):
        yield from _of_questions(model)
    elif issubclass(model, ObjectTarget) and "node" not in model.model_fields:
        yield one_of(("pod", "object"))


def _of_questions(model: type[BaseModel]) -> Iterator[Schema]:
    targets, asked = ("pod", "object", "node"), tuple(map(to_camel, expect_items.QUESTIONS))
    order = ("order",) if model is Expect else ()
    yield at_most_one(targets)
    if model is Expect:
        yield any_of((*targets, "call", *order))
        yield at_most_one(("at", "by", "between", "within"))
        yield {"dependencies": {"of": ["within"]}}
    yield any_of((*asked, *order))
    yield at_most_one((*asked, *order), but=("state", "exitCode"))
    yield {"dependencies": {"field": any_of(map(to_camel, expect_items.QUANTITIES))}}
    yield {"dependencies": {to_camel(name): _belongs(of) for name, of in expect_items.BELONGS.items()}}


def _belongs(questions: Sequence[str]) -> list[str] | Schema:
    names = [to_camel(name) for name in questions]
    return names if len(names) == 1 else any_of(names)


def given(name: str) -> Schema:
    return {"required": [name]}


def any_of(names: Iterable[str]) -> Schema:
    return {"anyOf": [given(name) for name in names]}


def one_of(names: Iterable[str]) -> Schema:
    return {"oneOf": [given(name) for name in names]}


def at_most_one(names: Sequence[str], but: tuple[str, str] = ("", "")) -> Schema:
    """`but` are two that go together."""
    pairs = [pair for pair in combinations(names, 2) if set(pair) != {*but}]
    return {"not": {"anyOf": [{"required": list(pair)} for pair in pairs]}}

"""Dependencies between the fields of an item, in JSON Schema: the same rules as the validators of the language.

An error is reported at the item itself, as the loader does. `null` counts as given here. Comparisons of two values
(`min` and `max`, `begin` and `end`) are not in the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from kubesim.cluster.store.kinds import RESOURCES
from kubesim.scenario.expecting.quantities import Bounds, TextPart
from kubesim.scenario.language import expect_items
from kubesim.scenario.language.expect_items import Expect, ObjectQuestion, Occasion
from kubesim.scenario.language.object_items import ObjectTarget
from kubesim.scenario.language.operations.dependency_items import DependencyStep
from kubesim.scenario.language.operations.fault_items import FaultItem
from kubesim.scenario.language.operations.names import OPERATIONS
from kubesim.scenario.language.operations.when_items import QUESTIONS, When
from kubesim.scenario.language.step_items import (
    ACTIONS,
    SCALABLE,
    Hang,
    Kill,
    Pressure,
    Restart,
    Scale,
    Start,
    Step,
    Stop,
)
from kubesim.scenario.language.variation.draw_items import DurationDraw, ExitCodeDraw
from kubesim.scenario.language.variation.matrix_items import Matrix

Schema = dict[str, Any]

_NOT_SCALABLE = "|".join(sorted({*RESOURCES} - {*SCALABLE}))
_GLOB = r"[*?\[][^/]*$"


def choices(model: type[BaseModel]) -> Schema:
    rules = list(_rules(model))
    return {"allOf": rules} if rules else {}


def not_as_short_form(model: str) -> tuple[str, ...]:
    """Short-form values that the rules of the model would reject."""
    return ("config",) if model in (Start.__name__, Restart.__name__) else ()


def _rules(model: type[BaseModel]) -> Iterator[Schema]:
    if issubclass(model, ObjectQuestion):
        yield from _of_questions(model)
    elif issubclass(model, ObjectTarget) and "node" not in model.model_fields:
        yield one_of(("pod", "object"))
    for type_, rules in _BY_TYPE.items():
        if issubclass(model, type_):
            yield from rules()


def _of_steps() -> Iterator[Schema]:
    yield one_of(("at", "when"))
    yield one_of(map(to_camel, ACTIONS))
    yield {"dependencies": {"delay": ["when"], "by": ["when"]}}


def _of_conditions() -> Iterator[Schema]:
    operation = any_of(("after", "before"))
    others = {"not": any_of(("object", *QUESTIONS))}
    about = [one_of(("pod", "object")), one_of(QUESTIONS), {"not": any_of(("node", "container"))}]
    yield {"if": operation, "then": {"allOf": [one_of(("after", "before")), others]}, "else": {"allOf": about}}
    yield at_most_one(("equals", "atLeast"))
    yield {"dependencies": {"field": any_of(("equals", "atLeast")), "equals": ["field"], "atLeast": ["field"]}}
    yield never({"phase": {}, "object": {}})
    yield {"if": {"anyOf": [operation, given("event")]}, "else": never({"count": {"not": {"const": 1}}})}


def _of_faults() -> Iterator[Schema]:
    kinds = ("error", "hang", "crash", "torn")
    single = {"allOf": [any_of((*kinds, "latency")), at_most_one(kinds)]}
    yield {"if": given("results"), "then": {"not": given("times")}, "else": single}
    yield never({"results": {"type": "array", "minItems": 1, "items": {"const": "ok"}}})
    for result, field in (("crash", "crash"), ("late", "latency")):
        yield {
            "dependencies": {"results": {"anyOf": [given(field), never({"results": {"contains": {"const": result}}})]}}
        }
    yield never({"latency": {"anyOf": [_zero(), has({"value": _zero()})]}})
    yield never({"hang": {"const": True}, "latency": {}}, without=("results",))
    struck = {"contains": {"enum": ["error", "hang", "crash"]}}
    strikes = [given("error"), given("crash"), has({"hang": {"const": True}}), has({"results": struck})]
    yield {"if": has({"moment": {"const": "after"}}), "then": {"anyOf": strikes}}
    others = [group for group in OPERATIONS if group != "disk"]
    yield never({"operation": _named(*others), "torn": {"const": True}})
    yield never({"operation": _named(*others), "results": {"contains": {"const": "torn"}}})
    yield never({"operation": _named("disk"), "hang": {"const": True}})
    yield never({"operation": _named("disk"), "latency": {}})
    yield never({"operation": _named("runtime", "image", "volume", "disk"), "code": {}})
    yield never({"operation": _named("api"), "code": {"anyOf": [{"minimum": 1, "maximum": 399}, {"minimum": 600}]}})


def _named(*groups: str) -> Schema:
    """The operations of these groups, by their full names."""
    names = [name for group in groups for each in OPERATIONS[group] for name in (each, f"{group}.{each}")]
    return {"enum": names}


def _zero() -> Schema:
    return {"anyOf": [{"const": 0}, {"type": "string", "pattern": r"^[+]?(0|([0.]+(ns|us|µs|μs|ms|s|m|h))+)$"}]}


def _of_components() -> Iterator[Schema]:
    yield never({"what": {"not": {"const": "devicePlugin"}}, "resource": {"not": {"const": ""}}})


def _of_stops() -> Iterator[Schema]:
    yield never({"what": {"not": {"const": "runtime"}}, "containers": {"const": "gone"}})


def _of_hangs() -> Iterator[Schema]:
    call, container = {"const": "call"}, {"const": "container"}
    yield never({"what": call}, without=("call",))
    yield never({"what": {"not": call}, "call": {}})
    yield never({"what": container}, without=("pod",))
    yield never({"what": container, "node": {}})
    yield never({"pod": {}, "node": {}}, without=("what", "call"))
    yield never({"container": {}}, without=("what", "call", "pod"))
    yield from (never({"what": {"const": "runtime"}, name: {}}) for name in ("pod", "container"))


def _of_draws() -> Iterator[Schema]:
    yield one_of(("value", "min", "mean", "median", "choices"))
    yield {
        "dependencies": {"min": ["max"], "max": ["min"], "median": ["sigma"], "sigma": ["median"], "stddev": ["mean"]}
    }
    yield never({"choices": {"maxItems": 0}})


def _of_exit_codes() -> Iterator[Schema]:
    yield one_of(("value", "choices"))
    yield never({"choices": {"maxItems": 0}})


def _of_bounds() -> Iterator[Schema]:
    yield any_of(("equals", "atLeast", "atMost"))
    yield {"if": given("equals"), "then": {"not": any_of(("atLeast", "atMost"))}}
    yield never({"atLeast": {"const": 0}}, without=("atMost",))


_BY_TYPE: Mapping[type[BaseModel], Callable[[], Iterable[Schema]]] = {
    Step: _of_steps,
    When: _of_conditions,
    FaultItem: _of_faults,
    Start: _of_components,
    Stop: _of_stops,
    Hang: _of_hangs,
    Kill: lambda: [
        never({"sandbox": {"const": True}, name: {"not": {"const": ""}}}) for name in ("container", "process")
    ],
    Pressure: lambda: [any_of(field.alias or "" for name, field in Pressure.model_fields.items() if name != "node")],
    Scale: lambda: [never({"pod": {}}), never({"object": {"pattern": f"^({_NOT_SCALABLE})/"}})],
    DependencyStep: lambda: [any_of(("latency", "down"))],
    DurationDraw: _of_draws,
    ExitCodeDraw: _of_exit_codes,
    Bounds: _of_bounds,
    TextPart: lambda: [one_of(("contains", "equals", "matches"))],
    Matrix: lambda: [any_of(("seeds", "profiles", "values"))],
}


def _of_questions(model: type[BaseModel]) -> Iterator[Schema]:
    targets, asked = ("pod", "object", "node"), tuple(map(to_camel, expect_items.QUESTIONS))
    order = ("order",) if model is Expect else ()
    yield at_most_one(targets)
    yield any_of((*asked, *order))
    yield at_most_one((*asked, *order), but=("state", "exitCode"))
    yield {"dependencies": {"field": any_of(map(to_camel, expect_items.QUANTITIES))}}
    yield at_most_one(tuple(map(to_camel, expect_items.QUANTITIES)), but=("atLeast", "atMost"))
    yield {"dependencies": {to_camel(name): _belongs(of) for name, of in expect_items.BELONGS.items()}}
    yield never({"state": {"const": "running"}, "reason": {}})
    yield never({"state": {"const": "running"}, "message": {}})
    yield never({"state": {"not": {"const": "terminated"}}, "exitCode": {}})
    yield from _of_targets(model)
    if model is Expect:
        yield from _of_forms()
    if model is Occasion:
        numbers = ("count", "restartCount", "ready", "endpoints")
        yield from (never({name: _bounds_with_zero()}) for name in numbers)


def _of_targets(model: type[BaseModel]) -> Iterator[Schema]:
    """Which questions can be asked about which objects."""
    others = {"anyOf": [given("node"), has({"object": {"pattern": "^(?!Pod/)"}})]}
    yield {"if": others, "then": {"not": any_of(map(to_camel, expect_items.OF_PODS))}}
    not_services = {"anyOf": [given("node"), given("pod"), has({"object": {"pattern": "^(?!Service/)"}})]}
    yield {"if": not_services, "then": {"not": given("endpoints")}}
    yield never({"object": {"pattern": "^(?!Pod/|Node/)"}, "call": {}})
    named = {"not": {"pattern": _GLOB}}
    counted = any_of(expect_items.OCCURRENCES)
    for target in ("pod", "object", "node"):
        yield {"if": has({target: named, "count": {}}), "then": counted}


def _of_forms() -> Iterator[Schema]:
    true = {"const": True}
    targets = ("pod", "object", "node")
    each_has_target = has({"order": {"items": any_of(targets)}})
    yield {"not": {"not": {"anyOf": [*map(given, (*targets, "call")), each_has_target]}}}
    yield at_most_one(("at", "by", "between", "within"))
    yield {"dependencies": {"of": ["within"]}}
    for one, other in combinations(("always", "never", "eventually"), 2):
        yield never({one: true, other: true})
    for form in ("always", "eventually"):
        yield never({"at": {}, form: true})
    yield from (never({name: {}, "always": true}) for name in expect_items.OCCURRENCES)
    yield never({"exists": {}, "always": true}, without=("between",))
    yield from (never({name: _bounds_with_zero(), "never": true}) for name in ("restartCount", "count"))
    yield from (never({"order": {}, name: {}}) for name in ("at", "between"))
    yield from (never({"order": {}, name: true}) for name in ("always", "never"))


def _bounds_with_zero() -> Schema:
    """0, or bounds that include 0."""
    equals = has({"equals": {"const": 0}})
    from_zero = {"required": ["atMost"], "not": has({"atLeast": {"minimum": 1}})}
    return {"anyOf": [{"const": 0}, {"type": "object", "anyOf": [equals, from_zero]}]}


def _belongs(questions: Sequence[str]) -> list[str] | Schema:
    names = [to_camel(name) for name in questions]
    return names if len(names) == 1 else any_of(names)


def has(fields: Schema) -> Schema:
    """Require all of these fields, with these values."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def never(fields: Schema, without: Sequence[str] = ()) -> Schema:
    """Reject the combination of all these fields and values, unless one of the fields in `without` is also set."""
    bad = has(fields)
    return {"not": {**bad, "not": any_of(without)} if without else bad}


def given(name: str) -> Schema:
    return {"required": [name]}


def any_of(names: Iterable[str]) -> Schema:
    return {"anyOf": [given(name) for name in names]}


def one_of(names: Iterable[str]) -> Schema:
    return {"oneOf": [given(name) for name in names]}


def at_most_one(names: Sequence[str], but: tuple[str, str] = ("", "")) -> Schema:
    """Allow at most one of these fields; the two in `but` may be combined."""
    pairs = [pair for pair in combinations(names, 2) if set(pair) != {*but}]
    return {"not": {"anyOf": [{"required": list(pair)} for pair in pairs]}}

"""Tables of the types of the scenario language and of labs, for the pages of `docs/`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo

from kubesim.golang.text import duration
from kubesim.scenario.authoring.descriptions import of_field, of_type
from kubesim.scenario.language.strict import Strict, model_of, unfold


def described_model(model: type[Strict]) -> Iterator[str]:
    """A type of the scenario language: types give the allowed values, `fields.yaml` the descriptions."""
    described = of_type(model)
    yield from (f"## {model.__name__}", "", f"{described.text} Example: `{_example(described.example)}`", "")
    yield from ("| field | value | default | meaning | example |", "|---|---|---|---|---|")
    for name, field in model.model_fields.items():
        text = of_field(model, name, field)
        value, default = cell(_value(field)[0] + _short_form(field)), _default(field) or _listed(field)
        example = cell(f"`{_example(text.example)}`")
        yield f"| `{field.alias or name}` | {value} | {default} | {cell(text.text)} | {example} |"
    yield ""


def _listed(field: FieldInfo) -> str:
    """A list as default."""
    return f"`{_example(list(field.default))}`" if isinstance(field.default, tuple) and field.default else "none"


def _example(value: Any) -> str:
    """One-line YAML, as in a scenario file."""
    return yaml.dump(value, default_flow_style=True, width=10_000, sort_keys=False).removesuffix("\n...\n").strip()


def _short_form(field: FieldInfo) -> str:
    """`, or just its pod` if a plain value is allowed."""
    keys = dict.fromkeys(_short_keys(field.annotation, tuple(field.metadata)))
    return f", or just its {' or '.join(f'`{key}`' for key in keys)}" if keys else ""


def _short_keys(annotation: Any, metadata: tuple[Any, ...]) -> Iterator[str]:
    for item in metadata:
        read = getattr(item, "func", None)
        if isinstance(read, partial) and read.func is unfold:
            yield read.args[0]
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        yield from _short_keys(arguments[0], arguments[1:])
    elif get_origin(annotation) in (Union, UnionType, tuple):
        for argument in arguments:
            yield from _short_keys(argument, ())


def plain_models(first: type[Strict]) -> Iterator[str]:
    """A model, then each model that its fields may contain, once."""
    queue, seen = [first], {first}
    while queue:
        model = queue.pop(0)
        yield from (f"## {model.__name__}", "", inspect.cleandoc(model.__doc__ or ""), "")
        yield from ("| field | value | default | |", "|---|---|---|---|")
        comments = _comments(model)
        for name, field in model.model_fields.items():
            text, used = _value(field)
            for each in used:
                if each not in seen:
                    seen.add(each)
                    queue.append(each)
            yield f"| `{field.alias or name}` | {cell(text)} | {_default(field)} | {cell(comments.get(name, ''))} |"
        yield ""


def _comments(model: type[Strict]) -> dict[str, str]:
    """The comments of fields: at the end of the source line, or above it."""
    found, above = {}, ""
    for cls in reversed(model.__mro__):
        if cls is Strict or not issubclass(cls, Strict):
            continue
        for line in inspect.getsource(cls).splitlines():
            field = re.match(r"    (\w+): .*?(?:  # (.*))?$", line)
            if field is not None:
                found[field[1]] = field[2] or above
            above = line.strip()[2:] if line.strip().startswith("# ") else ""
    return found


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.default
    if value == "" or not isinstance(value, str | int | float):
        return ""
    if "duration" in _value(field)[0] and isinstance(value, int):
        return f"`{_go(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _go(micros: int) -> str:
    return duration(micros) if micros else "0"


def _value(field: FieldInfo) -> tuple[str, list[type[Strict]]]:
    used: list[type[Strict]] = []
    return _described(field.annotation, tuple(field.metadata), used), used


def _described(annotation: Any, metadata: tuple[Any, ...], used: list[type[Strict]]) -> str:
    annotation = model_of(annotation)
    names = [getattr(getattr(item, "func", None), "__name__", "") for item in metadata]
    if annotation is int and any("duration" in name for name in names):
        return "duration"
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _described(args[0], args[1:], used)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_described(arg, metadata, used) for arg in args if arg is not NoneType))
    if origin is Literal:
        return ", ".join(f"`{str(arg).lower() if isinstance(arg, bool) else arg}`" for arg in args if arg != "")
    if origin is tuple:
        return f"list of {_described(args[0], (), used)}"
    if origin is dict:
        return f"mapping of {_described(args[1], (), used)}"
    if inspect.isclass(annotation) and issubclass(annotation, Strict):
        used.append(annotation)
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    plain = {str: "text", int: "number", float: "number", bool: "true or false", dict: "object", Any: "anything"}
    return plain.get(annotation, getattr(annotation, "__name__", str(annotation)))


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

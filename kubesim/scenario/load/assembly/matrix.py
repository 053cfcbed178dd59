"""The cells of a matrix: the values of each cell, and the documents of the file with those values. Pure."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from typing import Any

from kubesim.scenario.language.variation.matrix_items import Matrix
from kubesim.scenario.load.objects import items_of
from kubesim.values import value_object

_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")
SEED, PROFILE = "spec.seed", "spec.profile"


class NoSuchPath(ValueError):
    """A path of a matrix that does not exist; the text names the first missing step."""


@value_object
class Cell:
    """One combination of values, by path."""

    values: tuple[tuple[str, Any], ...]

    @property
    def name(self) -> str:
        """`maxPods=5 seed=2`: each value after the last word of its path, or after the full path if the last word is
        ambiguous."""
        lasts = [_last(path) for path, _ in self.values]
        shown = (
            (path if lasts.count(last) > 1 else last, value)
            for last, (path, value) in zip(lasts, self.values, strict=True)
        )
        return " ".join(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in shown)


def _last(path: str) -> str:
    return _steps(path.rpartition(" ")[2])[-1]


def _steps(path: str) -> list[str]:
    return [name or key for name, key in _STEP.findall(path)]


def cells(matrix: Matrix, *, seeds: bool = True, profiles: bool = True) -> list[Cell]:
    """All combinations, in the order of the file; seeds vary fastest. A flag may fix the seeds or the profiles."""
    axes: list[list[tuple[str, Any]]] = [[(path, value) for value in values] for path, values in matrix.values.items()]
    if matrix.profiles and profiles:
        axes.append([(PROFILE, profile) for profile in matrix.profiles])
    if matrix.seeds and seeds:
        axes.append([(SEED, seed) for seed in matrix.seeds])
    return [Cell(combination) for combination in itertools.product(*axes)]


def with_values(documents: Sequence[Any], cell: Cell) -> list[Any]:
    """Copies of the documents of a file with the values of a cell; the first is the scenario. Raises NoSuchPath."""
    changed = [_copied(document) for document in documents]
    for path, value in cell.values:
        named, _, inner = path.rpartition(" ")
        for root in [changed[0]] if not named else _objects(changed, named):
            _set(root, _steps(inner), path, _copied(value))
    return changed


def _copied(value: Any) -> Any:
    """A copy in which each YAML alias has a value of its own; `copy.deepcopy` would share it."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value


def _objects(documents: Sequence[Any], named: str) -> list[Any]:
    """The objects named `kind/name` or `kind/namespace/name` in all documents and in `spec.objects`."""
    kind, *rest = named.split("/")
    name, namespace = rest[-1], rest[0] if len(rest) > 1 else "default"
    listed = [*documents[1:], *((documents[0].get("spec") or {}).get("objects") or ())]
    found = [
        item
        for document in listed
        for _, item in items_of(document)
        if str(item.get("kind", "")).lower() == kind.lower()
        and (item.get("metadata") or {}).get("name") == name
        and (item["metadata"].get("namespace") or "default") == namespace
    ]
    if not found:
        raise NoSuchPath(f"there is no {named} in the file")
    return found


def _set(value: Any, steps: list[str], path: str, new: Any) -> None:
    """Set the value at a path. Missing mappings are created; missing list items are errors."""
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        if isinstance(value, list):
            index = _index(value, step, path)
            if is_last:
                value[index] = new
            value = value[index]
        elif isinstance(value, dict):
            if is_last:
                value[step] = new
            elif value.get(step) is None:
                value[step] = {}
            value = value[step]
        else:
            raise NoSuchPath(f"{path} does not exist: the value before {step} is no object or list")


def _index(items: list[Any], step: str, path: str) -> int:
    """The index for a step `[0]` or `[name=main]`."""
    key, equals, wanted = step.partition("=")
    found = [n for n, item in enumerate(items) if equals and isinstance(item, dict) and str(item.get(key)) == wanted]
    if step.isdigit() and int(step) < len(items):
        found = [int(step)]
    if not found:
        raise NoSuchPath(f"{path} does not exist: the list has no item [{step}]")
    return found[0]

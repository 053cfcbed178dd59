"""Reports all mistakes of a file, where the loader stops at the first.

A mistake can hide others: an unknown field hides those of its siblings, an invalid item those of the whole spec. So
invalid parts are removed and the rest is validated again, until it is valid or nothing more can be removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kubesim.errors import InputError, UsageError
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.strict import NO_NODE
from kubesim.scenario.load.loader import Document, ScenarioParser, SourceText, default_name, explain, path_of, validate
from kubesim.scenario.load.overlay import Overlay
from kubesim.scenario.load.yaml_source import Path
from kubesim.values import replace

MOST_ROUNDS = 1000
SPEC = ("spec",)
UNNAMED = "unnamed"
_NODES = ("spec", "nodes")


def all_problems(text: SourceText, *, strict: bool = False, allow_host: bool = False) -> list[UsageError]:
    """The mistakes, sorted by their position in the file; empty if the file is valid."""
    found = _Everything(allow_host)
    try:
        found.read(text, strict)
    except UsageError as error:  # the whole file is invalid: invalid YAML has no other mistakes
        found.refuse(error)
    return sorted(found.problems, key=_position)


def _position(error: UsageError) -> tuple[int, int]:
    return (error.line or 0, error.column or 0) if isinstance(error, InputError) else (0, 0)


class _Everything(ScenarioParser):
    def __init__(self, allow_host: bool) -> None:
        self.problems: list[UsageError] = []
        self._allow_host = allow_host
        self._reported: set[str] = set()

    def read(self, text: SourceText, strict: bool) -> None:
        super().__init__([text], {}, Overlay(directory=text.directory, allow_host=self._allow_host), strict)
        self.problems += self.repeated
        self.scenario(default_name(text.source))

    def refuse(self, error: UsageError) -> None:
        """Keep the first problem of each field."""
        key = f"{error.line}:{error.column}:{error.field}" if isinstance(error, InputError) else str(error)
        if key not in self._reported:
            self._reported.add(key)
            self.problems.append(error)

    def validated(self, document: Document, overlay: Overlay) -> tuple[Document, Scenario]:
        kept: dict[Path, list[int]] = {}
        rest = replace(document, left=deepcopy(document.value), kept=kept)
        rest.left.pop("kind", None)  # checked before
        for _ in range(MOST_ROUNDS):
            try:
                return rest, validate(rest.left, overlay)
            except ValidationError as error:
                details = error.errors(include_url=False)
                self._add_problems(details, rest, overlay)
                if not _leave_out([(each["type"], path_of(each, rest)) for each in details], rest.left, kept):
                    break
        rest = replace(rest, left={"metadata": {"name": UNNAMED}})  # the objects of the file can still be checked
        return rest, validate(rest.left, overlay)

    def _add_problems(self, details: Sequence[ErrorDetails], rest: Document, overlay: Overlay) -> None:
        paths = [path_of(each, rest) for each in details]
        for each, path in zip(details, paths, strict=True):
            # An item of the same list was removed, or the node that it names.
            follows = path in rest.kept or (each["type"] == NO_NODE and _NODES in rest.kept)
            if not follows and not any(other[: len(path)] == path != other for other in paths):
                self.refuse(explain(each, rest, overlay))


def _leave_out(wrong: Sequence[tuple[str, Path]], value: Any, kept: dict[Path, list[int]]) -> bool:
    """Remove the invalid parts; False if none can be removed."""
    done = False
    # From the end, so that numbers before it stay right.
    for path in sorted({_smallest(type, path, value) for type, path in wrong}, key=_numbered, reverse=True):
        done = _remove(value, path, kept) or done
    return done


def _numbered(path: Path) -> list[tuple[int, str, int]]:
    return [(0, step, 0) if isinstance(step, str) else (1, "", step) for step in path]


def _smallest(type: str, path: Path, value: Any) -> Path:
    """The smallest part to remove: an unknown field, otherwise the item of a list in the spec (the rest of it may
    depend on the mistake), otherwise the field of the spec."""
    if type == "unknown_field":
        return path
    index = next((number for number, step in enumerate(path) if isinstance(step, int)), None)
    if index is not None:
        return path[: index + 1]
    return path[:3] if path[:2] == ("spec", "kubeletConfiguration") else path[:2]


def _remove(value: Any, path: Path, kept: dict[Path, list[int]]) -> bool:
    if path[:1] == ("metadata",):
        before, value["metadata"] = value.get("metadata"), {"name": UNNAMED}
        return bool(before != value["metadata"])
    *above, last = path or ("",)
    if path in ((), SPEC):
        return False
    for step in above:
        value = value[step]
    if isinstance(last, int):
        numbers = kept.setdefault(tuple(above), list(range(len(value))))
        del numbers[last], value[last]
        return True
    if not isinstance(value, dict) or last not in value:
        return False
    del value[last]
    return True
